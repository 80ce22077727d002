"""What a GloVe text costs to open and to query: ours next to pandas, polars and gensim.

    python benchmarks/glove_open.py [--repeats 3] [--quick]

The fetched text is taken (`course data glove`), or else a synthetic one is made: random numbers
with five significant digits, as in the real files. All contestants end with a list of words and a
float32 array and must agree exactly; the text lies in the page cache for everyone. Quotes are
letters and "nan" is a word, which has to be said to those that read tables. A *later* open reads
what an earlier one stored in the way of its library. Then the ten nearest rows of a vector, which
must be the same for all. Those that are not installed are left out (the extra `bench` installs
them). Times are medians.
"""

import csv
import importlib.util
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from benchmarks.measuring import arguments_of, in_turns, machine
from course.data import data_folder
from course.data.glove import open_glove
from solutions.skipgram import nearest_by_cosine

Opened = tuple[list[str], np.ndarray]
"""The words, and the vectors (V, C)."""


# --- ways to open a text --------------------------------------------------------------------


def naive_loop(text: Path) -> Opened:
    words, rows = [], []
    with open(text, encoding="utf-8", newline="\n") as file:
        for line in file:
            word, *numbers = line.rstrip().split(" ")
            words.append(word)
            rows.append(np.array([float(number) for number in numbers], dtype=np.float32))
    return words, np.stack(rows)


def open_later(text: Path) -> Opened:
    vectors = open_glove(_dim(text), text.parent)
    return vectors.words, vectors.vectors


def open_first(text: Path) -> Opened:
    text.with_suffix(".npy").unlink(missing_ok=True)
    return open_later(text)


def with_pandas(text: Path) -> Opened:
    import pandas

    frame = pandas.read_csv(
        text,
        sep=" ",
        header=None,
        quoting=csv.QUOTE_NONE,
        na_filter=False,
        encoding="utf-8",
        lineterminator="\n",
        dtype={0: str, **{column: np.float32 for column in range(1, _dim(text) + 1)}},
    )
    return frame[0].tolist(), frame.iloc[:, 1:].to_numpy()


def with_polars(text: Path) -> Opened:
    import polars

    columns = {f"{column}": polars.Float32 for column in range(_dim(text))}
    frame = polars.read_csv(
        text,
        separator=" ",
        has_header=False,
        quote_char=None,
        schema={"word": polars.String, **columns},
    )
    return frame["word"].to_list(), frame.drop("word").to_numpy()


def with_gensim(text: Path) -> Opened:
    from gensim.models import KeyedVectors

    keyed = KeyedVectors.load_word2vec_format(str(text), no_header=True)
    keyed.save(str(text.with_suffix(".gensim")))
    return keyed.index_to_key, keyed.vectors


def with_gensim_later(text: Path) -> Opened:
    from gensim.models import KeyedVectors

    keyed = KeyedVectors.load(str(text.with_suffix(".gensim")), mmap="r")
    return keyed.index_to_key, keyed.vectors


def _dim(text: Path) -> int:
    with open(text, "rb") as file:
        return file.readline().count(b" ")


def ways_to_open() -> dict[str, Callable[[Path], Opened]]:
    """Ours, and those of the peers that are installed."""
    return {
        "naive loop (split, float)": naive_loop,
        "open_glove, first": open_first,
        "open_glove, later": open_later,
        **({"pandas.read_csv": with_pandas} if _installed("pandas") else {}),
        **({"polars.read_csv": with_polars} if _installed("polars") else {}),
        **(
            {"gensim, first, and stored": with_gensim, "gensim, later": with_gensim_later}
            if _installed("gensim")
            else {}
        ),
    }


def _installed(peer: str) -> bool:
    return importlib.util.find_spec(peer) is not None


# --- ways to find the ten nearest rows ------------------------------------------------------


def ways_to_query(text: Path, query: np.ndarray) -> dict[str, Callable[[], list[int]]]:
    """By name: a call that gives ten row numbers, the nearest first."""
    vectors = open_glove(_dim(text), text.parent)
    rows, wanted = vectors.tensor(), torch.from_numpy(query)
    ways = {"ours: nearest_by_cosine": lambda: nearest_by_cosine(wanted, rows, 10)[0].tolist()}
    if _installed("gensim"):
        from gensim.models import KeyedVectors

        keyed = KeyedVectors(vectors.vectors.shape[1])
        keyed.add_vectors(vectors.words, vectors.vectors)
        keyed.fill_norms()
        ways["gensim, stores lengths"] = lambda: [
            keyed.key_to_index[word] for word, _ in keyed.similar_by_vector(query, topn=10)
        ]
    return ways


# --- side by side ---------------------------------------------------------------------------


def check_opened(ways: dict[str, Callable[[Path], Opened]], text: Path) -> Opened:
    """What all of them find in a text; this also stores what the later ones read."""
    want = naive_loop(text)
    for name, read in ways.items():
        words, vectors = read(text)
        same = words == want[0] and np.array_equal(vectors, want[1])
        if not same or vectors.dtype != np.float32:
            raise SystemExit(f"{name} reads other words or numbers, so nothing is timed.")
    return want


def report(ways: dict[str, Callable[[], object]], what: str, repeats: int, at_least: float) -> None:
    """Print what each takes, and how many times as fast as the first one it is."""
    spent = in_turns(ways, repeats, at_least)
    first = next(iter(spent.values()))
    print(f"| way to {what} | s | processor s | times as fast |\n|---|--:|--:|--:|")
    for name, one in spent.items():
        print(f"| {name} | {one.wall:.4f} | {one.cpu:.4f} | {first.cpu / one.cpu:,.1f} |")
    print(flush=True)


def make_text(path: Path, n_rows: int, dim: int = 50) -> None:
    random = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for row in range(n_rows):
            numbers = " ".join(f"{number:.5g}" for number in random.normal(0, 0.6, dim))
            file.write(f"word{row} {numbers}\n")


def main() -> None:
    arguments = arguments_of(__doc__, repeats=3)
    repeats = 1 if arguments.quick else arguments.repeats
    torch.set_num_threads(1)
    print(f"{machine()}\n", flush=True)
    fetched = data_folder() / "glove.6B.50d.txt"
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / fetched.name  # where the contestants may write next to it
        if fetched.exists():
            with open(fetched, "rb") as whole, open(text, "wb") as file:
                file.writelines(islice(whole, 2_000 if arguments.quick else None))
        else:
            make_text(text, 2_000 if arguments.quick else 100_000)
        ways = ways_to_open()
        words, vectors = check_opened(ways, text)
        kind = "fetched" if fetched.exists() else "synthetic"
        print(f"{len(words):,} rows of {_dim(text)} ({kind}); medians of {repeats}.\n", flush=True)
        opened = {name: partial(read, text) for name, read in ways.items()}
        report(opened, "open it", repeats, 0.0)
        queries = ways_to_query(text, vectors[len(words) // 1000] + vectors[len(words) // 500])
        found = {name: find() for name, find in queries.items()}
        if len({tuple(sorted(rows)) for rows in found.values()}) > 1:
            raise SystemExit(f"They find other rows, so nothing is timed: {found}")
        report(queries, "find the ten nearest rows", 5 * repeats, 0.02)


if __name__ == "__main__":
    main()
