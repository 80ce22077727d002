"""The notebooks: made from their sources, and nothing is borrowed silently.

They run in test_site_in_browser.py.
"""

import ast
import re

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import find_lesson, lessons
from course.publishing import figures
from course.publishing.building.notebooks import (
    UNGRADED,
    YOUR_ANSWER,
    notebook_from,
    source_of,
    stems,
)
from course.publishing.figures.controls import play
from course.student import notebook
from course.student.guess import Guess


def text_of(stem):
    return source_of(stem).read_text(encoding="utf-8")


def cells_of(stem, **options):
    return nbformat.reads(notebook_from(text_of(stem), stem, **options), 4).cells


# --- what they are made of ------------------------------------------------------------------


def names_given(cell, function):
    """The names, and whether each is still `...`, of the one call of a function in a cell."""
    (call,) = [
        node
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == function
    ]
    return {one.arg: ast.unparse(one.value) == "..." for one in call.keywords}


@pytest.mark.parametrize("stem", stems())
def test_every_guess_follows_its_question_and_is_compared_with_what_came_out(stem):
    cells = cells_of(stem)
    asked = [n for n, cell in enumerate(cells) if "prediction" in cell.metadata.get("tags", [])]
    assert len(asked) >= 3
    for question, end in zip(asked, [*asked[1:], len(cells)], strict=True):
        guess, *rest = cells[question + 1 : end]
        (compared,) = [cell for cell in rest if "guess.compare(" in cell.source]
        assert guess.metadata.tags == compared.metadata.tags == ["guess"]
        guesses, results = names_given(guess, "Guess"), names_given(compared, "guess.compare")
        assert all(guesses.values())
        assert set(guesses) == set(results) or set(results) == {None}  # from a dictionary


@pytest.mark.parametrize("stem", stems())
def test_a_notebook_asks_for_answers_and_defines_next_to_nothing(stem):
    cells = cells_of(stem)
    answers = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
    assert cells[0].source.startswith("# ")
    assert len(answers) >= 2 or stem in UNGRADED.values()
    assert all(YOUR_ANSWER in cell.source for cell in answers)
    for cell in cells:
        if cell.cell_type == "code" and cell.id != "colab":
            for node in ast.walk(ast.parse(cell.source)):
                assert not isinstance(node, ast.ClassDef)
                if isinstance(node, ast.FunctionDef):
                    assert len(node.body) - bool(ast.get_docstring(node)) <= 5, node.name
                assert "solutions" not in ast.dump(node)


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_every_exercise_has_a_cell_that_earns_its_points(lesson):
    checks = [
        cell.metadata.nbgrader
        for cell in cells_of(lesson.notebook.stem)
        if cell.cell_type == "code" and "nbgrader" in cell.metadata
    ]
    assert [(one.grade_id, one.points) for one in checks] == [
        (exercise.name, exercise.points) for exercise in lesson.exercises
    ]
    assert all(one.grade and one.locked and not one.solution for one in checks)


@pytest.mark.parametrize("stem", stems())
def test_the_instructors_answers_stay_with_the_instructor(stem):
    blocks = re.findall(
        r"^# ### BEGIN SOLUTION\n(.*?)^# ### END SOLUTION",
        text_of(stem),
        re.MULTILINE | re.DOTALL,
    )
    students, instructors = (
        "\n".join(cell.source for cell in cells_of(stem, solved=solved)) for solved in (False, True)
    )
    assert "SOLUTION" not in students
    for line in "".join(blocks).splitlines():
        text = line.removeprefix("#").strip()
        assert text in instructors
        assert len(text) < 20 or text not in students
    assert blocks or stem in UNGRADED.values()


@pytest.mark.parametrize(
    "cell", ['answer="why"', 'answer="why" points="two"', 'answer="rotate_half" points=2']
)
def test_a_source_that_nobody_could_grade_is_refused(golden, cell):
    with pytest.raises(ValueError) as raised:
        notebook_from(f"# %% [markdown]\n# # RoPE\n\n# %% [markdown] {cell}\n# Why?\n", "5_rope")
    golden("sources of notebooks", {cell: str(raised.value)})


# --- whose code runs ------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A folder with a module of RoPE next to the notebook, and what was displayed there."""
    monkeypatch.chdir(tmp_path)
    module = find_lesson("rope").module("solutions")
    (tmp_path / "rope.py").write_bytes(module.read_bytes())
    return tmp_path / "rope.py"


@pytest.fixture
def displayed(monkeypatch):
    """What a notebook would have shown."""
    shown = []
    monkeypatch.setattr(notebook, "display", shown.append)
    return shown


def add(path, code):
    path.write_text(path.read_text(encoding="utf-8") + code, encoding="utf-8")


def test_what_is_written_is_yours_and_counts_as_soon_as_it_is_saved(module, displayed):
    rope = notebook.exercises("rope")
    assert rope.ntk_base(10000.0, 2.0, 4) == 40000.0
    add(module, "\ndef ntk_base(*_):\n    return 7\n")
    assert rope.ntk_base(10000.0, 2.0, 4) == 7  # wrong, and seen
    assert displayed == []


def test_what_is_to_do_is_borrowed_and_says_so_once_a_cell(module, displayed, golden, monkeypatch):
    text = module.read_text(encoding="utf-8")
    module.write_text(stub_from(text, "rope"), encoding="utf-8")
    rope = notebook.exercises("rope")
    shell = InteractiveShell()
    monkeypatch.setattr(notebook, "get_ipython", lambda: shell)
    for cell in 1, 2:
        shell.execution_count = cell
        assert rope.ntk_base(10000.0, 2.0, 4) == rope.ntk_base(10000.0, 2.0, 4) == 40000.0
    first, second = map(repr, displayed)
    assert first == second and first.startswith("ntk_base is borrowed")
    golden("banners of a notebook", {"still to do": first})
    assert "ntk_base is borrowed" in displayed[0]._repr_html_()


def test_what_is_wrong_or_borrowed_behind_a_name_is_told(tmp_path, displayed, golden, monkeypatch):
    """A RotaryEmbedding may have passed with a right rotate_half lent, and be drawn with yours."""
    status = {exercise.name: "passed" for exercise in find_lesson("rope").exercises}
    monkeypatch.setattr(notebook, "status_of_all", lambda: status | {"rotate_half": "wrong"})
    stub = '\ndef rope_tables(*_):\n    raise NotImplementedError("TODO rope.rope_tables")\n'
    source = find_lesson("rope").module("solutions").read_text(encoding="utf-8") + stub
    monkeypatch.setattr(notebook.Exercises, "_path", tmp_path / "exercises" / "rope.py")
    monkeypatch.setattr(notebook, "root", lambda: tmp_path)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "rope.py").write_text(source, encoding="utf-8")
    rope = notebook.exercises("rope")
    for name in ("alibi_bias", "apply_rope", "RotaryEmbedding"):
        assert getattr(rope, name)
    wrong, both = map(repr, displayed)
    assert "your own rotate_half" in wrong
    assert both.startswith("RotaryEmbedding") and "rope_tables" in both and both.endswith(wrong)
    golden("banners of a notebook", {"one is wrong": wrong, "another is borrowed": both})


def test_the_example_for_a_notebook_of_your_own_runs():
    text = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    statements, _, last = code.strip().rpartition("\n")
    names = {}
    exec(statements, names)
    assert "table" in eval(last, names).alt


def test_what_is_borrowed_serves_what_is_yours(module):
    add(module, '\ndef rotate_half(x):\n    raise NotImplementedError("TODO rope.rotate_half")\n')
    rope = notebook.exercises("rope")
    x, (cos, sin) = rope.rope_tables(3, 4)[0], rope.rope_tables(3, 4)
    assert rope.apply_rope(x, cos, sin).shape == (3, 4)  # it calls rotate_half


@pytest.mark.parametrize(
    "source", ["def rotate_half(:", "import nothing_of_this_name as n; n.go()"]
)
def test_a_file_that_cannot_be_run_is_told(module, displayed, golden, source):
    module.write_text(f"{source}\n", encoding="utf-8")
    rope = notebook.exercises("rope")
    assert rope.ntk_base(10000.0, 2.0, 4) == 40000.0
    told = repr(displayed[0]).replace(module.parent.name, "exercises")
    golden("banners of a notebook", {source: told})
    assert "<" not in displayed[0]._repr_html_().removeprefix("<div").removesuffix("</div>")


def test_only_exercises_have_names(module):
    rope = notebook.exercises("rope")
    assert set(dir(rope)) == {exercise.name for exercise in find_lesson("rope").exercises}
    with pytest.raises(AttributeError, match="rope is called used"):
        _ = rope.used
    with pytest.raises(ValueError, match='did you mean "rope"'):
        notebook.exercises("roap")


@pytest.mark.parametrize(
    ("code", "right"), [("", True), ("\ndef ntk_base(*_):\n    return 7\n", False)]
)
def test_a_check_says_what_is_wrong_and_gives_the_points(module, capsys, code, right):
    add(module, code)
    worth = find_lesson("rope").exercise("ntk_base").points
    points = notebook.check("ntk_base")
    assert points == (worth if right else 0)
    assert repr(points) == str(worth if right else 0)  # what nbgrader reads
    assert re.fullmatch(r"\d points?", points._repr_html_())
    printed = capsys.readouterr().out
    assert ("ntk_base(10000, 2, 4)" in printed) == (not right)
    assert "Warning" not in printed


def test_a_loop_at_import_is_told(module, displayed, monkeypatch):
    monkeypatch.setattr("course.testing.run.SECONDS_PER_TEST", 1)
    add(module, "\nwhile True:\n    pass\n")
    assert notebook.exercises("rope").ntk_base(10000, 2, 4)
    assert " 1 s" in repr(displayed[0])


def test_what_was_not_guessed_is_none_yet():
    assert "none yet" in repr(Guess(loss=..., more=1).compare(loss=1.5))


# --- sliders --------------------------------------------------------------------------------


def picture(position=3, word="cat"):
    return figures.position_table([[float(position), 1.0]], title=word)


@pytest.fixture
def outputs(monkeypatch):
    """What `play` displays: widgets and bundles, and the updates of the picture."""
    shown, updates = [], []

    class Handle:
        update = staticmethod(lambda bundle, raw: updates.append(bundle))

    def display(thing, **options):
        shown.append(thing)
        return Handle() if options.get("display_id") else None

    monkeypatch.setattr("course.publishing.figures.controls.display", display)
    return shown, updates


def test_a_slider_redraws_the_picture_in_its_place(outputs):
    shown, updates = outputs
    play(picture, position=range(5), word=["cat", "dog"])
    position, word, first = shown
    assert (position.value, word.value) == (3, "cat")
    position.value = 4
    word.value = "dog"
    assert len(updates) == 2
    assert len({first["text/html"], *(update["text/html"] for update in updates)}) == 3
