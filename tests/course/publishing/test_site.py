"""The site: what its commands say, and what its pages are made of.

`test_site_in_browser.py` looks at the site itself.
"""

import os
import re
from unittest.mock import Mock

import nbformat
import pytest
from click.testing import CliRunner

from course import cli, root
from course.cli import site as command
from course.core.stubs import stub_from
from course.core.syllabus import lessons
from course.publishing.building.notebooks import (
    UNGRADED,
    YOUR_ANSWER,
    notebook_from,
    source_of,
    stems,
)
from course.publishing.site import build, executed, pages
from course.publishing.site.markup import anchor


@pytest.fixture
def sphinx_is_there(monkeypatch, tmp_path_factory):
    """As if the extra were installed, in a separate folder: nothing here runs Sphinx."""
    monkeypatch.setattr("course.ROOT", tmp_path_factory.mktemp("root"))
    monkeypatch.setattr(command, "find_spec", lambda name: True)


def run():
    return CliRunner().invoke(cli.main, ["site", "build"])


def fails_with(pattern):
    result = run()
    assert result.exit_code == 1, result.output
    assert re.fullmatch(f"Error: {pattern}", result.output.splitlines()[-1]), result.output


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    fails_with(r'the site needs more packages: pip install -e "\.\[site\]"')


def test_only_a_build_that_succeeds_takes_the_place_of_the_older_site(sphinx_is_there, monkeypatch):
    site, steps = root() / "site", Mock()
    site.mkdir()
    (site / "index.html").write_text("older", encoding="utf-8")

    def write_pages(folder, kept):
        folder.mkdir(parents=True, exist_ok=True)
        steps()

    def pretend(kept):
        (kept / "html" / "_static").mkdir(parents=True)
        page = "<footer></footer><article>newer</article>"
        (kept / "html" / "index.html").write_text(page, encoding="utf-8")
        return "lessons/rope/README.md:7: WARNING: no such page"

    monkeypatch.setattr(build, "write_pages", write_pages)
    steps.side_effect = executed.SiteError("5_rope.ipynb does not run")
    fails_with("5_rope.ipynb does not run")
    steps.side_effect = None
    fails_with("Sphinx failed: .+")  # for there is no configuration
    assert (site / "index.html").read_text(encoding="utf-8") == "older"
    monkeypatch.setattr(build, "_run_sphinx", pretend)
    result = run()
    assert result.exit_code == 0 and "WARNING: no such page" in result.output, result.output
    assert result.output.splitlines()[-1] == f"built {site}; open {site / 'index.html'}"
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page == '<footer aria-label="Next page and licence"></footer><article>newer</article>'
    texts = (site / "_static" / "pages.js").read_text(encoding="utf-8")
    assert '"./index.html": "<article>newer"' in texts


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages, with notebooks that were not run: a run takes a minute."""
    folder = tmp_path_factory.mktemp("written") / "pages"

    def not_run(kept):
        return {
            stem: nbformat.reads(notebook_from(source_of(stem).read_text("utf-8"), stem), 4)
            for stem in stems()
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "executed_notebooks", not_run)
        pages.write_pages(folder, folder)
    return folder


def test_no_solution_and_no_model_answer_is_published(written):
    published = [path for path in written.rglob("*") if path.suffix in (".md", ".ipynb", ".py")]
    texts = {path: path.read_text(encoding="utf-8") for path in published}
    for lesson in lessons():
        solution = lesson.module("solutions").read_text(encoding="utf-8")
        stub = written / "exercises" / f"{lesson.stem}.py"
        assert texts[stub] == stub_from(solution, lesson.stem) != solution
    for stem in stems():
        answers = re.findall(
            r"### BEGIN SOLUTION\n(?:# )?(.*?)\n", source_of(stem).read_text(encoding="utf-8")
        )
        assert answers or stem in UNGRADED.values()
        for answer in answers:
            assert not [path for path, text in texts.items() if answer in text]
        notebook = texts[written / "notebooks" / f"{stem}.ipynb"]
        assert YOUR_ANSWER not in notebook
        for word in ("google.colab", "slider", "Guess("):  # what a page cannot do
            assert word not in notebook


def test_figures_have_numbers_folds_a_kind_and_exercises_a_card_a_contract_and_a_row(written):
    page = (written / "course" / "lessons" / "rope" / "README.md").read_text(encoding="utf-8")
    numbers = re.findall(r"<figcaption>Figure 5\.(\d+)</figcaption>", page)
    assert len(numbers) > 5
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    kinds = re.findall(r'<details class="(\w+)">', page)
    assert len(kinds) == page.count("<details")
    assert set(kinds) == {"answer", "stuck", "proof", "models"}
    # to play with, and where it's explained
    assert page.count("](figures/both_hands_turn.svg)") == 2
    syllabus = (written / "course" / "lessons" / "README.md").read_text(encoding="utf-8")
    for lesson in lessons():
        contracts = (written / "exercises" / f"{lesson.stem}.md").read_text(encoding="utf-8")
        text = (written / lesson.text.relative_to(root())).read_text(encoding="utf-8")
        for exercise in lesson.exercises:
            assert text.count(f'id="{anchor(exercise)}"') == 1
            contract = pages.anchor_of(exercise)
            assert f"({contract})=" in contracts
            assert f":: exercises.{lesson.stem}.{exercise.name}\n" in contracts
            row = f"| [`{exercise.name}`](../../exercises/{lesson.stem}.md#{contract})"
            row += f"<br>{exercise.title} | {exercise.minutes} | {exercise.points} |"
            assert row in syllabus


def test_what_comes_out_is_folded_behind_its_guess_and_has_no_slider():
    picture = nbformat.v4.new_output("display_data", {"text/html": "<img>"})
    slider = nbformat.v4.new_output(
        "display_data", {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "b"}
    )
    question, _, result, explanation, more = cells = [
        nbformat.v4.new_markdown_cell(
            "**Guess first.** How many?", metadata={"tags": ["prediction"]}
        ),
        nbformat.v4.new_code_cell("guess = Guess(many=...)", metadata={"tags": ["guess"]}),
        nbformat.v4.new_code_cell("play(draw)", outputs=[slider, picture]),
        nbformat.v4.new_markdown_cell("<details>Three.</details>"),
        nbformat.v4.new_code_cell("print(4)", outputs=[picture]),
    ]
    title = nbformat.v4.new_markdown_cell("# 5. RoPE")
    notebook = pages.for_reading(nbformat.v4.new_notebook(cells=[title, *cells]), "5_rope")
    assert notebook.cells == [title, question, result, explanation, more]
    assert result.outputs == [picture]
    assert title.source == "# Notebook 5. RoPE"
    assert question.source == "::::{admonition} Guess first\nHow many?\n::::"
    assert pages.tags_of(result) == {"hide-output"}
    assert pages.tags_of(explanation) == pages.tags_of(more) == set()


def test_a_cell_that_fails_is_told_in_a_sentence():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    sentence = "^notebooks/5_rope.ipynb does not run: ZeroDivisionError: division by zero$"
    with pytest.raises(executed.SiteError, match=sentence):
        executed.run_notebook("5_rope", nbformat.writes(notebook))


def test_a_notebook_runs_again_only_on_other_code_or_data(tmp_path, monkeypatch):
    ran = []

    def run_notebook(stem, text):
        ran.append(stem)
        return nbformat.reads(text, as_version=4)

    monkeypatch.setattr(executed, "run_notebook", run_notebook)
    monkeypatch.setattr(executed, "stems", lambda: ["5_rope", "8_gpt"])
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "data"))
    first = executed.executed_notebooks(tmp_path / "kept")
    assert executed.executed_notebooks(tmp_path / "kept") == first
    assert sorted(ran) == ["5_rope", "8_gpt"]
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "tiny_shakespeare.txt").write_text("O", encoding="utf-8")
    executed.executed_notebooks(tmp_path / "kept")
    assert sorted(ran) == ["5_rope", "5_rope", "8_gpt", "8_gpt"]
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_a_page_that_is_as_it_was_is_not_touched(written, monkeypatch):
    monkeypatch.setattr(pages, "executed_notebooks", lambda kept: {})
    page = written / "course" / "lessons" / "rope" / "README.md"
    os.utime(page, (1, 1))
    pages.write_pages(written, written)
    assert page.stat().st_mtime == 1
