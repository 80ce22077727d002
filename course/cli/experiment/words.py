"""`course experiment words`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from course.cli.experiment.shared import a_seed, print_borrowed

if TYPE_CHECKING:
    from torch import Tensor

    from course.experiments.real_words import Words
    from course.experiments.word_comparison import Quality


@click.command(short_help="Word vectors from a real text: trained or counted.")
@a_seed
def words(seed: int) -> None:
    """Train skip-gram on a real text, and compare it with counting.

    The text is TinyShakespeare, if you have fetched it. The experiment shows the nearest words
    after 1, 3 and 10 epochs; how close the scores come to PMI - log K, to which they converge
    according to Levy and Goldberg; how trained rows compare with those of an SVD; and the nearest
    neighbors of some tokens. If you have fetched Google's analogies, it tests these, too. It takes
    less than a minute.

    \b
    Example:
      course experiment words --seed 1
    """
    import torch

    from course.data import data_folder
    from course.data.corpus import load_corpus
    from course.experiments.analogies import read_questions
    from course.experiments.real_words import every_way, tokens_of, trained, words_of
    from course.experiments.word_comparison import qualities
    from course.student.exercises import passing_exercises

    torch.set_num_threads(1)  # products this small are not worth sharing
    corpus, path, questions = load_corpus(), data_folder() / "questions-words.txt", []
    if corpus.name == "kingdom":
        click.echo(
            "\nTinyShakespeare is missing; fetch it with `course data tinyshakespeare`. These"
            "\nnumbers are for the toy kingdom, a small made-up text."
        )
    elif path.exists():
        questions = [q for section in read_questions(path).values() for q in section]
    text = words_of(corpus.text)
    click.echo(
        f"\n{corpus.name}: {len(text.ids):,} words, {len(text.words):,} distinct ones, seed {seed}"
    )
    ways = every_way(text, seed)
    _print_nearest(text, {way: rows for way, (rows, _) in ways.items()}, ("king", "romeo", "day"))
    _print_fits(text, corpus.name, seed)
    _print_qualities(qualities(text, corpus.text, ways, questions, seed))
    tokens = tokens_of(corpus.text)
    click.echo(f"\n{corpus.name} in {len(tokens.words):,} byte-pair tokens")
    rows = {"skip-gram, 3 epochs": trained(tokens, (3,), seed)[3].center}
    _print_nearest(tokens, rows, (" king", "KING", " he", "ing"))
    print_borrowed(
        {"nearest_by_cosine": passing_exercises("skipgram").source_of("nearest_by_cosine")}
    )


def _print_nearest(text: "Words", tables: "Mapping[str, Tensor]", asked: Sequence[str]) -> None:
    """Print the nearest words of those words that are in the text, in each table."""
    from course.experiments.word_comparison import nearest_words

    for word in filter(text.words.__contains__, asked):
        click.echo(f"\nnearest to {word!r}")
        for way, rows in tables.items():
            near = nearest_words(text, rows, word)
            shown = " ".join(one if one == one.strip() else repr(one) for one in near)
            click.echo(f"  {way:<22}{shown}")


def _print_fits(text: "Words", name: str, seed: int) -> None:
    """Print how close scores get to PMI - log K, by how often the pairs meet."""
    from course.experiments.word_comparison import fits_to_pmi

    click.echo("\nscores against PMI - log 5: correlation, and root mean square of the difference")
    click.echo(f"  {'':<36}{'pairs that meet':<18}{'pairs':>8}{'r':>8}{'nats':>8}")
    for of, n_embd, fit in fits_to_pmi(text, name, seed):
        which = f"{of}, {n_embd} numbers per word"
        often = f"{fit.at_least:g} times or more" if fit.at_least else "less often"
        fitted = f"{fit.correlation:>8.2f}{fit.distance:>8.2f}"
        click.echo(f"  {which:<36}{often:<18}{fit.n_pairs:>8,}{fitted}")


def _print_qualities(ways: "Mapping[str, Quality]") -> None:
    """Print what each way to word vectors costs, and how good its rows are."""
    click.echo(
        "\ntrained or counted: processor seconds, split words with the other half as the nearest"
        "\nrow, analogies answered, and nearest rows shared with another seed's 10 epochs"
    )
    heads = "".join(f"{name:>16}" for name in next(iter(ways.values())).analogies)
    click.echo(f"  {'':<22}{'CPU':>8}{'twins':>8}{heads}{'shared':>8}")
    for way, one in ways.items():
        rights = "".join(f"{f'{right} of {n}':>16}" for right, n in one.analogies.values())
        click.echo(f"  {way:<22}{one.seconds:>6.1f} s{one.twins:>8.0%}{rights}{one.shared:>8.0%}")
