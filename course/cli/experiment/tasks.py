"""`course experiment tasks`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from course.cli.experiment.shared import a_seed, print_borrowed, training_bar
from course.testing.messages.wording import filled

if TYPE_CHECKING:
    from course.experiments.tasks import Job, TaskResult

GOOD = 0.95
"""From this accuracy on a scheme can do a task."""


@click.command(short_help="Which scheme can copy a text, even a longer one?")
@a_seed
def tasks(seed: int) -> None:
    """Train small models on tasks that need positions, and test them on longer texts.

    The tasks are to copy a string, reverse it, name the token three back, complete a pair that
    appeared before (induction), and find a needle in noise. Each model learns one task with one
    position scheme, on texts of up to 32 tokens, and is then tested on texts of up to 512. Three
    models with different seeds are trained for each case, which takes about four minutes on two
    cores. Each result is saved, so you can stop at any time, and finished results appear right
    away.

    \b
    Examples:
      course experiment tasks
      course experiment tasks --seed 3
    """
    from course.experiments.processes import side_by_side
    from course.experiments.tasks import TASKS, jobs_for, result_of
    from course.experiments.training import kept_in

    jobs = jobs_for(seed)
    with training_bar(jobs, 100) as tell:

        def on_step(job: "Job", step: int) -> None:
            tell(job, 100 * step // TASKS[job.task].steps)

        results = side_by_side(result_of, jobs, (kept_in("tasks"),), on_step)
    for name in TASKS:
        _report(results, name)
    click.echo(f"\n{sum(one.seconds for one in results):.0f} seconds of processor time.")
    print_borrowed({name: source for one in results for name, source in one.sources.items()})


def _report(results: "Sequence[TaskResult]", task: str) -> None:
    """Print the accuracy of each scheme in a task, and who can do it."""
    from course.experiments.tasks import LENGTHS, TASKS, TRAINED, table

    rows = table(results, task)
    click.echo(f"\n{task}: {TASKS[task].sentence}. Right answers in %, mean of three models.\n")
    click.echo(f"{'tokens':<12}" + "".join(f"{length:>6}" for length in LENGTHS))
    for name, row in rows.items():
        shown = "  " + name.partition(", ")[2] if ", " in name else name
        cells = [f"{100 * row[n]:>6.0f}" if n in row else f"{'–':>6}" for n in LENGTHS]
        click.echo(f"{shown:<12}" + "".join(cells))
    can = {n: [name for name in rows if rows[name].get(n, 0) >= GOOD] for n in LENGTHS}
    far = max((n for n in LENGTHS if can[n]), default=TRAINED)
    said = f"Right in {GOOD:.0%} or more at {TRAINED} tokens: {'; '.join(can[TRAINED]) or 'none'}."
    if far > TRAINED:
        said += f" Still at {far}: {'; '.join(can[far])}."
    click.echo(f"\n{filled(said)}")
