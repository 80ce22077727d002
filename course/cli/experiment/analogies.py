"""`course experiment analogies`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from course.cli.experiment.shared import print_borrowed
from course.messages.wording import counted
from course.system.console import typed

if TYPE_CHECKING:
    from course.experiments.analogies import Answers


@click.command(short_help="How many of Google's analogies can GloVe answer?")
@click.argument("questions", required=False, type=click.Path(path_type=Path), metavar="[QUESTIONS]")
@click.option(
    "--dim",
    type=click.Choice(["50", "100", "200", "300"]),
    default="50",
    help="Numbers per word.  [default: 50]",
)
@click.option("--words", type=click.IntRange(min=1), help="Use only the most frequent words.")
def analogies(questions: Path | None, dim: str, words: int | None) -> None:
    """Answer QUESTIONS such as "man is to king as woman is to ?" with GloVe vectors.

    QUESTIONS is Google's questions-words.txt, which `course data analogies` fetches, or another
    file in the same format: a line `: name` starts a section, and every other line has four words.
    `course data glove` fetches the vectors.

    \b
    Examples:
      course experiment analogies
      course experiment analogies ~/questions-words.txt --words 20000
    """
    from course.data import data_folder
    from course.data.glove import open_glove
    from course.experiments import analogies
    from course.student.exercises import passing_exercises

    path = questions or data_folder() / "questions-words.txt"
    if not path.exists():
        cure = "" if questions else f"; `{typed('course data analogies')}` fetches it"
        raise click.ClickException(f"{path} is missing{cure}")
    sections = analogies.read_questions(path)
    vectors = open_glove(int(dim))
    vectors = analogies.most_frequent(vectors, words) if words else vectors
    answers = analogies.answer_all(sections, vectors)
    click.echo(f"\n{len(vectors):,} words from glove.6B.{dim}d.txt, questions from {path.name}\n")
    _answers_table(answers)
    names = passing_exercises("skipgram")
    n_agreed = analogies.n_agreed(answers, vectors, names.analogy)
    n_asked = sum(len(one.best) > 0 for one in answers.values())
    click.echo(
        "\nThese answers follow the rule of `analogy`, but are computed in blocks. For the first "
        f"question\nof each section, `analogy` itself gives the same answer in {n_agreed} of "
        f"{n_asked} cases."
    )
    print_borrowed({"analogy": names.source_of("analogy")})


def _answers_table(answers: "Mapping[str, Answers]") -> None:
    """Print how many are right, by section and in total, also with nothing left out."""
    click.echo(f"{'':<30}{'inputs left out':>30}{'nothing left out':>20}")
    click.echo(f"{'section':<30}{'asked':>10}{'right':>10}{'share':>10}{'right':>10}{'share':>10}")
    rows = [
        (name, len(a.best), a.n_equal(a.best), a.n_equal(a.unruly)) for name, a in answers.items()
    ]
    n_asked, n_right, n_unruly = (sum(column) for column in list(zip(*rows, strict=True))[1:])
    for name, asked, right, unruly in [*rows, ("in total", n_asked, n_right, n_unruly)]:
        shares = [f"{n / asked:.2%}" if asked else "" for n in (right, unruly)]
        click.echo(
            f"{name[:30]:<30}{asked:>10,}{right:>10,}{shares[0]:>10}{unruly:>10,}{shares[1]:>10}"
        )
    b, c = (sum(a.n_equal(a.unruly, place) for a in answers.values()) for place in (1, 2))
    click.echo(
        f"\nWith nothing left out, the answer is c itself {c / n_asked:.2%} of the time, and b "
        f"{b / n_asked:.2%} of the time."
    )
    if n_left_out := sum(one.n_left_out for one in answers.values()):
        told = counted(n_left_out, "question")
        click.echo(f"Skipped {told} with a word that has no vector here.")
