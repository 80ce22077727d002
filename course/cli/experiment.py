"""`course experiment`."""

import dataclasses
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from course.messages.wording import counted, filled
from course.schemes import SCHEMES, schemes_for
from course.system.console import typed

if TYPE_CHECKING:
    from torch import Tensor

    from course.experiments.analogies import Answers
    from course.experiments.gpt import GPTTraining
    from course.experiments.gpt import Result as GPTResult
    from course.experiments.positions import Result
    from course.experiments.real_words import Words
    from course.experiments.training import Settings
    from course.experiments.word_comparison import Quality

N_WRITTEN = 500
"""Characters that `course experiment gpt --prompt` writes."""

a_seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Start from other numbers."
)


class _Experiments(click.Group):
    """A group of commands that end in one sentence, whatever goes wrong."""

    def invoke(self, context: click.Context) -> object:
        with _one_sentence():
            return super().invoke(context)


@click.group(cls=_Experiments, short_help="Measure what texts only claim.")
def experiment() -> None:
    """Measure what texts only claim, with your own modules where they pass."""


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Turn what may go wrong into one sentence and an exit status that is not 0."""
    from course.experiments.gpt import Stopped

    try:
        yield
    except KeyboardInterrupt:
        click.echo(err=True)
        sys.exit("Stopped. What is finished is kept.")
    except ChildProcessError as error:
        raise click.ClickException(f"{error}: memory may have run out") from None
    except OSError as error:
        # One that was raised here has no number, and its words are for the reader.
        said = f"{error.filename} cannot be read or written: {error.strerror}"
        said = said if error.errno else str(error)
        raise click.ClickException(said) from None
    except (ValueError, Stopped) as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def _bar(names: Sequence[str], steps: int) -> Iterator[Callable[..., None]]:
    """Show a bar of some trainings; give what is told their steps, and what their models write."""
    done, is_watched = dict.fromkeys(names, 0), sys.stderr.isatty()
    with click.progressbar(length=len(names) * steps, label="training", file=sys.stderr) as bar:

        def tell(name: str, step: int, sample: str = "") -> None:
            if sample:
                line = f"{name}, step {step}: {_on_one_line(sample)}"
                click.echo(f"\r{line[:79]:<79}" if is_watched else line, err=True)
            bar.update(step - done[name])
            done[name] = step

        yield tell


def _print_borrowed(sources: Mapping[str, str]) -> None:
    """Print which exercises are yours and which are borrowed."""
    if borrowed := [name for name in sources if sources[name] == "borrowed"]:
        said = f"Borrowed, because yours did not pass a check yet: {', '.join(borrowed)}."
        click.echo(f"\n{filled(said)}")
    else:
        click.echo("\nAll of it is made of your own modules.")


def _on_one_line(text: str) -> str:
    return text.strip().replace("\n", " / ")


# --- positions ----------------------------------------------------------------------------------


_LISTED = "\n".join(f"  {name:<12}{scheme.sentence}" for name, scheme in SCHEMES.items())

_POSITIONS_HELP = f"""Train one small character model for each SCHEME, or for all, and compare them.

Each learns from windows of 64 characters, of TinyShakespeare if it was fetched, and is then asked
about 128 and 256. All take less than a minute on two processors. The result of each is kept, and
shown at once the next time.

\b
SCHEME:
{_LISTED}

\b
Examples:
  course experiment positions
  course experiment positions rope t5 --seed 1
  course experiment positions --long
"""


@experiment.command(
    help=_POSITIONS_HELP, short_help="Which position scheme wins, and which reads on?"
)
@click.argument("schemes", nargs=-1, type=click.Choice([*SCHEMES]), metavar="[SCHEME]...")
@click.option("--long", is_flag=True, help="Larger models: some five times the work.")
@a_seed
def positions(schemes: tuple[str, ...], long: bool, seed: int) -> None:
    from course.experiments.positions import draw, shoot_out
    from course.experiments.training import LONG, QUICK, kept_in

    settings = dataclasses.replace(LONG if long else QUICK, seed=seed)
    at_this_size = schemes_for(settings.size.n_layers)
    if unfit := set(schemes).difference(at_this_size):
        raise click.UsageError(f"{unfit.pop()} needs more than one layer; add --long")
    schemes = tuple(dict.fromkeys(schemes or at_this_size))
    with _one_sentence():
        with _bar(schemes, settings.steps) as tell:
            results = shoot_out(settings, schemes, tell)
        _report(results, settings)
        drawn = draw(results, kept_in("positions"))
    click.echo(f"\nfigures: {', '.join(map(str, drawn))}")


def _report(results: "Sequence[Result]", settings: "Settings") -> None:
    """Print the losses, what they were computed with, and what each model writes."""
    lengths, corpus = [*results[0].held_out], results[0].corpus
    click.echo(
        f"\nLoss in nats per character on held-out text of {corpus}, after "
        f"{settings.steps} steps\non windows of {lengths[0]} characters, seed {settings.seed}. "
        "Lower is better.\n"
    )
    if corpus == "kingdom":
        fetch = typed("course data tinyshakespeare")
        click.echo(
            "The kingdom is a small made-up text. The figures of lessons 5 and 7 are those of\n"
            f"TinyShakespeare, which `{fetch}` fetches.\n"
        )
    click.echo(f"{'':<12}" + "".join(f"{length:>8}" for length in lengths) + f"{'CPU':>9}")
    for result in results:
        rows = {result.scheme: result.held_out}
        rows |= {f"  {way}": losses for way, losses in result.stretched.items()}
        for name, losses in rows.items():
            seconds = f"{result.seconds:>7.1f} s" if name == result.scheme else ""
            click.echo(f"{name:<12}" + "".join(f"{losses[n]:>8.2f}" for n in lengths) + seconds)
    sentences = [f"{result.scheme} {SCHEMES[result.scheme].sentence}." for result in results]
    if any(result.stretched for result in results):
        sentences.append(
            "Below rope is the same model with its angles changed after the training: by ntk_base, "
            "with positions divided (linear), and by yarn_frequencies with beta_fast 32 and 4."
        )
    click.echo(f"\n{filled(' '.join(sentences))}")
    _print_borrowed({name: source for result in results for name, source in result.sources.items()})
    for result in results:
        click.echo(f"\n{result.scheme} writes: {_on_one_line(result.sample)[:160]}")


# --- cache --------------------------------------------------------------------------------------


@experiment.command(short_help="A checkpoint of the other layout, read with a cache.")
@a_seed
def cache(seed: int) -> None:
    """Load a checkpoint in the other layout, and read and write with a key/value cache.

    The checkpoint is a small character model with interleaved RoPE, trained here in some ten
    seconds and kept. Your interleaved_to_half converts it, your RotaryEmbedding turns its queries
    and keys. What goes wrong without the one or the other is shown as well.

    \b
    Example:
      course experiment cache
    """
    import torch

    from course.data.corpus import load_corpus
    from course.experiments import cached
    from course.experiments.character_gpt import ALWAYS
    from course.experiments.training import QUICK, sources

    torch.set_num_threads(1)  # products this small are not worth sharing
    corpus, settings = load_corpus(), dataclasses.replace(QUICK, seed=seed)
    with _one_sentence():
        published = cached.checkpoint(settings, corpus.text)
    prompt = published.tokenizer.decode(published.held_out_ids[: cached.PROMPT])
    click.echo(
        f"\nA checkpoint trained on {corpus.name} with interleaved RoPE, seed {seed}, reads "
        f"{cached.PROMPT} characters\nat once and {cached.CONTEXT - cached.PROMPT} more one by "
        "one, with a cache. Loss in nats per character on\nheld-out text, and how it goes on "
        f"after {_on_one_line(prompt)!r}:\n"
    )
    for way, (loss, text) in cached.read_in_every_way(published).items():
        click.echo(f"{way:<18}{loss:>6.2f}   {_on_one_line(text)}")
    found = cached.with_and_without_cache(published)
    differ = f"they differ at character {(found.differ or 0) + 1}"
    click.echo(
        f"\n{found.n_tokens} characters more, with the cache and without: "
        f"{'both write the same' if found.differ is None else differ}.\n"
        f"Largest difference of a logit: {found.largest:.1e}. Seconds: {found.seconds[0]:.2f} "
        f"with the cache, {found.seconds[1]:.2f} without."
    )
    _print_borrowed(sources((*ALWAYS, "interleaved_to_half", "RotaryEmbedding")))


# --- gpt ----------------------------------------------------------------------------------------


@experiment.command(short_help="Train your GPT, and let it write.")
@click.option("--long", is_flag=True, help="Learn from TinyShakespeare: five minutes.")
@click.option("--prompt", metavar="TEXT", help="Go on from TEXT with the trained model.")
@a_seed
def gpt(long: bool, prompt: str | None, seed: int) -> None:
    """Train the GPT of your lesson 8, and beside it the same one without positions.

    It learns the toy kingdom's language, one character at a time, in less than a minute on two
    processors; a checker counts how many of its lines are grammatical. With --long it learns from
    TinyShakespeare. Stop it whenever you like: the next time it goes on from there. Both models
    are kept, and shown at once.

    --prompt goes on from a text, character by character with your cache, and says how much faster
    that is than to read the whole text anew for each.

    \b
    Examples:
      course experiment gpt
      course experiment gpt --prompt "the old king"
      course experiment gpt --long --prompt "ROMEO:"
    """
    from course.data.tokenizers import CharTokenizer
    from course.experiments.gpt import LONG, SHORT, WITH, WITHOUT, corpus_for, result_of, trained
    from course.experiments.processes import side_by_side

    settings = dataclasses.replace(LONG if long else SHORT, seed=seed)
    with _one_sentence():
        corpus = corpus_for(long)
        # Asked before anything is trained: a character may be missing in the vocabulary.
        ids = CharTokenizer.from_text(corpus.text).encode(prompt or "\n")
        with _bar((WITHOUT, WITH), settings.steps) as tell:
            results = side_by_side(result_of, (WITHOUT, WITH), (settings, corpus), tell)
        if prompt is not None:
            _write_on(trained(settings, corpus), ids)
            return
    _report_of_gpts(dict(zip((WITHOUT, WITH), results, strict=True)), settings, corpus.name)


def _report_of_gpts(results: "Mapping[str, GPTResult]", settings: "Settings", corpus: str) -> None:
    """Print what both models reach, what they are made of, and what they write."""
    from course.experiments.gpt import TEMPERATURE

    size, any_result = settings.size, next(iter(results.values()))
    click.echo(
        f"\nA GPT of {size.n_layers} layers, {size.n_embd} features and {size.n_heads} heads, "
        f"{any_result.n_parameters:,} parameters, after {settings.steps:,} steps on\n"
        f"{settings.batch_size} windows of {settings.context} characters of {corpus}, seed "
        f"{settings.seed}. Loss in nats per character on the\nheld-out tenth, each "
        "character predicted once.\n"
    )
    counts = any_result.lines is not None
    columns = f"{'lines':>8}{'grammatical':>13}{'of them new':>13}" if counts else ""
    click.echo(f"{'':<20}{'loss':>6}{columns}{'CPU':>10}")
    for way, result in results.items():
        if lines := result.lines:
            columns = f"{lines.n_lines:>8}{lines.share:>13.1%}{lines.n_new:>13}"
        click.echo(f"{way:<20}{result.held_out:>6.2f}{columns}{result.seconds:>8.1f} s")
    if counts:
        click.echo(
            f"\nCounted in texts drawn at temperature {TEMPERATURE}. New: lines that the grammar "
            "can write\nand the training text does not hold."
        )
    _print_borrowed(any_result.sources)
    texts = {"before its training": any_result.untrained}
    for title, text in (texts | {way: result.sample for way, result in results.items()}).items():
        click.echo(f"\n{title}, it writes:\n\n{textwrap.indent(text.strip(), '    ')}")
    option = " --long" if corpus == "tinyshakespeare" else ""
    again = typed(f"course experiment gpt{option} --prompt")
    click.echo(f"\nLet it go on from a text of yours: {again} TEXT")


def _write_on(training: "GPTTraining", ids: list[int]) -> None:
    """Print how a model goes on from a text; then its speed with a cache and without."""
    import torch

    from course.experiments.gpt import TEMPERATURE, all_names, students_code
    from course.experiments.training import sources
    from course.experiments.writing import first_difference, go_on, tokens_per_second

    generate, model = training.exercises.generate, training.model
    generator = torch.Generator().manual_seed(training.settings.seed)
    decode = training.tokenizer.decode

    def tell(token: int) -> None:
        click.echo(decode([token]), nl=False)
        sys.stdout.flush()

    click.echo(f"\n{decode(ids)}", nl=False)
    with students_code("Writing"):
        start = torch.tensor([ids])
        go_on(generate, model, start, N_WRITTEN, TEMPERATURE, generator, on_token=tell)
        click.echo()
        (one, speed), (other, slower) = tokens_per_second(generate, model, ids[-1]).values()
    differ = first_difference(one, other)
    told = "the same" if differ is None else f"the same up to character {differ}"
    click.echo(
        f"\n{speed:,.0f} characters a second with the cache, {slower:,.0f} without, where the "
        f"whole text is read\nanew for each of {len(one) - 1}. Both write {told}."
    )
    _print_borrowed(sources(all_names()))


# --- analogies ----------------------------------------------------------------------------------


@experiment.command(short_help="How many of Google's analogies do GloVe vectors know?")
@click.argument("questions", required=False, type=click.Path(path_type=Path), metavar="[QUESTIONS]")
@click.option(
    "--dim",
    type=click.Choice(["50", "100", "200", "300"]),
    default="50",
    help="Numbers a word; 50 if not given.",
)
@click.option("--words", type=click.IntRange(min=1), help="Take the most frequent words only.")
def analogies(questions: Path | None, dim: str, words: int | None) -> None:
    """Answer all QUESTIONS "a is to b as c is to ?" with GloVe vectors, by section.

    QUESTIONS is Google's file, questions-words.txt, or one like it: a line `: name` begins a
    section, every other line holds four words. If it is not named it is looked for where
    `course data` puts its files. It comes with word2vec, for instance at
    https://github.com/tmikolov/word2vec; the vectors come with `course data glove`.

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
        raise click.ClickException(f"{path} is missing; --help says where to get it")
    with _one_sentence():
        sections = analogies.read_questions(path)
        vectors = open_glove(int(dim))
        vectors = analogies.most_frequent(vectors, words) if words else vectors
        answers = analogies.answer_all(sections, vectors)
    click.echo(f"\n{len(vectors):,} words of glove.6B.{dim}d.txt, questions of {path.name}\n")
    _answers_table(answers)
    names = passing_exercises("skipgram")
    n_agreed = analogies.n_agreed(answers, vectors, names.analogy)
    n_asked = sum(len(one.best) > 0 for one in answers.values())
    click.echo(
        "\nThese are answers by the rule of `analogy`, computed in blocks. Asked for the first "
        f"question\nof each section, it says the same {n_agreed} times of {n_asked}."
    )
    _print_borrowed({"analogy": names.source_of("analogy")})


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
        f"{b / n_asked:.2%}."
    )
    if n_left_out := sum(one.n_left_out for one in answers.values()):
        told = counted(n_left_out, "question")
        click.echo(f"Not asked: {told} with a word that has no vector here.")


# --- words --------------------------------------------------------------------------------------


@experiment.command(short_help="Word vectors of a real text: trained, and counted.")
@a_seed
def words(seed: int) -> None:
    """Train skip-gram on real words, and compare it with what counting alone gives.

    The text is TinyShakespeare if it was fetched. Shown are the nearest words after 1, 3 and 10
    epochs; how near scores come to PMI - log K, where Levy and Goldberg say that they rest; trained
    rows against those of an SVD; and the nearest of some tokens. It takes less than a minute. If
    Google's questions-words.txt lies where `course data` puts its files, they are asked, too.

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
            "\nTinyShakespeare is not here: fetch it with `course data tinyshakespeare`. These are"
            "\nthe figures of the toy kingdom, a small made-up text."
        )
    elif path.exists():
        with _one_sentence():
            questions = [q for section in read_questions(path).values() for q in section]
    text = words_of(corpus.text)
    click.echo(
        f"\n{corpus.name}: {len(text.ids):,} words, {len(text.words):,} different ones, seed {seed}"
    )
    ways = every_way(text, seed)
    _print_nearest(text, {way: rows for way, (rows, _) in ways.items()}, ("king", "romeo", "day"))
    _print_fits(text, corpus.name, seed)
    _print_qualities(qualities(text, corpus.text, ways, questions, seed))
    tokens = tokens_of(corpus.text)
    click.echo(f"\n{corpus.name} in {len(tokens.words):,} byte-pair tokens")
    rows = {"skip-gram, 3 epochs": trained(tokens, (3,), seed)[3].center}
    _print_nearest(tokens, rows, (" king", "KING", " he", "ing"))
    _print_borrowed(
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
        which = f"{of}, {n_embd} numbers a word"
        often = f"{fit.at_least:g} times or more" if fit.at_least else "less often"
        fitted = f"{fit.correlation:>8.2f}{fit.distance:>8.2f}"
        click.echo(f"  {which:<36}{often:<18}{fit.n_pairs:>8,}{fitted}")


def _print_qualities(ways: "Mapping[str, Quality]") -> None:
    """Print what each way to word vectors costs, and how good its rows are."""
    click.echo(
        "\ntrained or counted: processor seconds, split words whose other half is the nearest"
        "\nrow, analogies answered, and nearest rows shared with another seed's 10 epochs"
    )
    heads = "".join(f"{name:>16}" for name in next(iter(ways.values())).analogies)
    click.echo(f"  {'':<22}{'CPU':>8}{'twins':>8}{heads}{'shared':>8}")
    for way, one in ways.items():
        rights = "".join(f"{f'{right} of {n}':>16}" for right, n in one.analogies.values())
        click.echo(f"  {way:<22}{one.seconds:>6.1f} s{one.twins:>8.0%}{rights}{one.shared:>8.0%}")
