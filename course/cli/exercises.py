"""The commands `course check`, `watch`, `hint` and `show`, which handle an exercise."""

import contextlib
import itertools
import sys

import click

from course import root
from course.core.console import typed
from course.core.syllabus import Exercise, find_exercises, find_lesson, lessons
from course.core.terminal import fitting, is_terminal


@click.command(
    short_help="Test an exercise, a lesson, or everything.",
    context_settings={"ignore_unknown_options": True},
    options_metavar="[--exit-zero]",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[NAME]... [PYTEST OPTION]...")
@click.option("--exit-zero", is_flag=True, help="Exit with status 0 whatever the check finds.")
def check(words: tuple[str, ...], exit_zero: bool) -> None:
    """Test the exercises or lessons that you NAME, or everything.

    A NAME can also be a lesson's number. `lookup` is lesson 1; its exercise with the same name is
    `lookup.lookup`. Any options after the names go to pytest. The exit status is 0 only if
    everything passes.

    \b
    Examples:
      course check
      course check rope
      course check rotate_half -x
      course check 5 lookup.lookup
    """
    words = sorted(words, key=lambda word: word == "-x")  # it may also come before the names
    names = list(itertools.takewhile(_is_name, words))
    chosen = [exercise for name in names for exercise in find_exercises(name)]
    import pytest

    graded = dict.fromkeys(find_lesson(exercise.lesson) for exercise in chosen) or lessons()
    status = pytest.main(
        [
            *("-c", str(root() / "pyproject.toml"), "--rootdir", str(root()), "-q"),
            *(f"--exercise={exercise.name}" for exercise in chosen),
            *words[len(names) :],
            *(str(lesson.tests) for lesson in graded),
        ]
    )
    sys.exit(0 if exit_zero and status == 1 else int(status))


def _is_name(word: str) -> bool:
    """Return whether a word names something, if only a lesson -1, and is no option of pytest."""
    return not word.startswith("-") or word[1:].isdigit()


@click.command(short_help="Start `course` at an exercise.")
@click.argument("exercise", required=False)
@click.option("--fork/--no-fork", default=None, hidden=True)
def watch(exercise: str | None, fork: bool | None) -> None:
    """Work on an EXERCISE, or on the next one in a lesson.

    This is what `course` does without a command: it shows the exercise, tests its file each time
    you save it, and moves on when it passes.

    \b
    Examples:
      course watch rope
      course watch rotate_half
    """
    run_loop(_first(find_exercises(exercise)) if exercise else None, fork)


def _first(exercises: tuple[Exercise, ...]) -> Exercise:
    """Return the first exercise that has not passed, or else the first."""
    from course.student.progress import PASSED, status_of_all

    status = status_of_all()
    return next((one for one in exercises if status[one.name] != PASSED), exercises[0])


def run_loop(exercise: Exercise | None, fork: bool | None = None) -> None:
    """Run the loop until the student ends it."""
    import signal

    from course.student.watch.loop import Loop

    for name in ("SIGTERM", "SIGHUP"):  # the terminal's window was closed, or the system goes down
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        Loop(exercise, fork).run()
    except KeyboardInterrupt:
        pass
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    if is_terminal():
        with contextlib.suppress(OSError):  # its window was closed
            click.echo(fitting(f"To go on where you left off, run `{typed('course')}`."))


def _chosen(name: str | None) -> Exercise:
    """Return the exercise of this name, or the next one to do; if there is none, say so and end.

    `lookup` is an exercise here.
    """
    from course.student.progress import PASSED, status_of_all

    among, named = [one for lesson in lessons() for one in lesson.exercises], []
    if name is not None:
        among = find_exercises(name)
        named = [one for one in among if len(among) == 1 or one.name == name.lower()]
    status = status_of_all()
    chosen = named or [one for one in among if status[one.name] != PASSED]
    if not chosen:
        everything = f"Everything in {name}" if name else "Everything"
        click.echo(f"{everything} passes already; name an exercise to see it anyway.")
        click.get_current_context().exit()
    return chosen[0]


@click.command(short_help="Show a hint for an exercise, one more each time.")
@click.argument("exercise", required=False)
@click.option("--again", is_flag=True, help="Show only the hints you've already seen.")
@click.option("--all", "every", is_flag=True, help="Show all three; the next one stays the same.")
def hint(exercise: str | None, again: bool, every: bool) -> None:
    """Show a hint for an EXERCISE; by default, for the next unsolved one.

    If you name a lesson, you get a hint for its next unsolved exercise. Each exercise has three
    hints: what to think about, how to approach it, and almost the line itself. Each time you run
    this command, it shows one more. --all is for whoever helps you: it shows them all, and you
    still get yours one by one.

    \b
    Examples:
      course hint
      course hint 5
      course hint rotate_half
      course hint rotate_half --again
    """
    from course.student import hints

    chosen = _chosen(exercise)
    shown = hints.every_one if every else hints.seen_again if again else hints.one_more
    click.echo(shown(chosen))


@click.command(short_help="Show what an exercise asks for, or its solution.")
@click.argument("exercise", required=False)
@click.option("--solution", is_flag=True, help="Show the reference, once the exercise has passed.")
@click.option("--i-give-up", is_flag=True, help="Show the reference even if it hasn't passed.")
def show(exercise: str | None, solution: bool, i_give_up: bool) -> None:
    """Show what an EXERCISE asks for; by default, the next unsolved one.

    If you name a lesson, you get its next unsolved exercise. --solution shows the reference's
    code with comments, then a solution in another style, so that you can compare both with yours.
    The exercise has to pass first, unless you add --i-give-up. Your instructor may have handed out
    a copy that shows less.

    \b
    Examples:
      course show rotate_half
      course show 5
      course show rotate_half --solution
      course show rotate_half --i-give-up
    """
    from course.core import answers
    from course.student.progress import PASSED, status_of_all
    from course.student.show import how_it_is_done, not_yet, what_it_asks

    chosen = _chosen(exercise)
    status = status_of_all()[chosen.name]
    gives_up = i_give_up and answers.shown() == "always"
    if (solution or i_give_up) and status != PASSED and not gives_up:
        raise click.ClickException(not_yet(chosen))
    try:
        is_shown = solution or i_give_up
        click.echo(how_it_is_done(chosen) if is_shown else what_it_asks(chosen, status))
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}") from None


@click.command(short_help="Ask three questions about code of yours that passes.")
@click.argument("name")
@click.option("--answers", is_flag=True, help="Show the answers, too.")
def quiz(name: str, answers: bool) -> None:
    """Ask three questions about your code: an exercise, or what passes of a lesson.

    Each takes a line of yours and asks what a change in it would do. The answers come from running
    your module with that change. For the same code you get the same questions.

    \b
    Examples:
      course quiz rotate_half
      course quiz rope --answers
    """
    from course.student.progress import PASSED, status_of_all
    from course.student.quiz import ask

    status = status_of_all()
    passed = [one.name for one in find_exercises(name) if status[one.name] == PASSED]
    if not passed:
        check = typed(f"course check {name}")
        raise click.ClickException(f"nothing here has passed since you edited it; try {check}")
    try:
        asked = ask(find_lesson(name), passed)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    for number, one in enumerate(asked, start=1):
        answer = f"\n\nAnswer: {one.answer}" if answers else ""
        click.echo(f"{number}. {one.asks}{answer}\n")
    if not asked:
        click.echo("There is nothing to ask about it that fits into a line.")
    elif not answers:
        command = typed(f"course quiz {name} --answers")
        click.echo(f"Answer each in a sentence (lists stand for tensors), then compare: {command}")
