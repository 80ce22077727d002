"""A table of mistakes is read as it is written, and errors in it name their file and line."""

import textwrap
from types import SimpleNamespace

import pytest

from course import mistakes as catalogue
from course.mistakes.table import TableError, read_table


def read(text: str) -> list:
    return read_table("== rotate_half\n" + textwrap.dedent(text), "rope.txt")


def edits(text: str) -> list[dict[str, str]]:
    return [one.edits for one in read(text)]


def test_edits_that_say_the_same_are_mistakes_of_their_own():
    entries = read(
        """
        # a comment
        ! a => b
        ! c => d
            * rotate_half does
            this.
            ? Where does it?
            forget: _kept
        ! e => f
            rotate_half does that.
            ? Where?
        """
    )
    said = (True, "rotate_half does this.", "Where does it?", "_kept")
    assert [one.sentences for one in entries] == [
        *(said, said, (False, "rotate_half does that.", "Where?", ""))
    ]
    assert [one.place for one in entries] == ["rope.txt:4", "rope.txt:5", "rope.txt:10"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("! a => b && c =>&& d => e", [{"a": "b", "c": "", "d": "e"}]),
        ("!   x  =  1 => `  y ` ", [{"x  =  1": "  y "}]),
        ('! `# a` => `" "`', [{"# a": '" "'}]),
        ("! x[{0 || 1}] => {y || }[{1||0}] + {z}", [{"x[0]": "y[1] + {z}"}, {"x[1]": "[0] + {z}"}]),
        ("$A = ` + 1`\n$B = 2$A\n! $A => $B, $a", [{" + 1": "2 + 1, $a"}]),
        (r"! a\n => b\n    \\n", [{"a\n": "b\n    \\n"}]),
    ],
)
def test_blanks_choices_and_abbreviations_of_a_line(text, meant):
    assert edits(text) == meant


def test_abbreviations_hold_for_one_exercise():
    with pytest.raises(TableError, match=r"^rope.txt:4: \$A is not defined"):
        edits("$A = 1\n== ntk_base\n! $A => 2")


def test_an_edit_goes_on_below():
    text = """
    ! return x => \\
      y = `1` && b => if x:
      |    a &&
      c => {d ||
      e}
    """
    assert edits(text) == [{"return x": "y = `1`", "b": "if x:\n    a", "c": one} for one in "de"]


def test_a_name_is_of_a_definition_and_an_error_is_taken_as_it_is():
    style, error, handed_on = read("+ by_slices\nE KeyError: {a || b}\n    Why.\n> ntk_base a => b")
    assert (style.name, style.edits) == ("by_slices", {})
    assert (error.name, error.sentences[1]) == ("KeyError: {a || b}", "Why.")
    assert (handed_on.name, handed_on.edits) == ("ntk_base", {"a": "b"})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("! a => b\n    Says.\n    ? Asks?", 1, "can't begin with '!"),
        ("== rotate_half\n    Says.", 2, "can't begin with '    Says'"),
        ("== rotate_half\n+ a => b\n    Says.", 3, "can't begin with '    Says'"),
        ("== rotate_half\n- a => b", 2, "can't begin with '- a"),
        ("== rotate_half\n! a -> b", 2, "neither"),
        ("== rotate_half\n+  => b", 2, "neither"),
        ("== rotate_half\n+ a => b && a => c", 2, "neither"),
        ("== rotate_half\n+ a => $B", 2, "$B is not defined"),
        ("== rotate_half\n+ a => {b || c} + {d || e || f}", 2, "equally long"),
        ("== rotate_half\n+ a => b || c", 2, "belongs between"),
        ("== rotate_half\n! a => b\n    Says.\n", 2, "question"),
        ("== rotate_half\n! a => b\n+ c => d", 2, "sentence"),
        ("== rotate_half\n\n! no_such_style\n    Says.\n    ? Asks?", 3, "has no 'no_such_style'"),
        ("== rotate_half\n! a => b\n    Says.\n    ? Asks?\n    forget: _x", 2, "has no '_x'"),
    ],
)
def test_an_error_names_its_file_and_line(tmp_path, monkeypatch, text, line, words):
    (tmp_path / "mistakes.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr(catalogue, "find_lesson", lambda stem: SimpleNamespace(room=tmp_path))
    with pytest.raises(TableError) as error:
        catalogue.catalogue.__wrapped__("rope")
    place, _, sentence = str(error.value).partition(": ")
    assert place == f"course/lessons/rope/mistakes.txt:{line}" and words in sentence
