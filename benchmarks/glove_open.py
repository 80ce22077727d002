"""What a GloVe text costs to open and to query: ours next to numpy, pandas, polars and gensim.

    python benchmarks/glove_open.py [TEXT] [--rows N] [--repeats 3] [--quick]

Without TEXT the fetched one is taken (`course data glove`), or else a synthetic one is made: random
numbers with five significant digits, as in the real files. All contestants end with a list of words
and a float32 array and must agree exactly; the text lies in the page cache for everyone. Quotes are
letters and "nan" is a word, which has to be said to those that read tables. A *later* open reads
what an earlier one stored in the way of its library. Then the ten nearest rows of a vector, which
must be the same for all. Times are medians; the memory is what a fresh process has resident at
most while it opens the text.
"""

import argparse
import csv
import importlib.util
import io
import platform
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import normalize

from benchmarks.measuring import in_turns, keep_freed_memory, machine, positive, resident_growth
from course.data import data_folder
from course.data.glove import WordVectors, open_glove
from solutions.skipgram import nearest_by_cosine

if TYPE_CHECKING:
    import pandas
    import polars
    from gensim.models import KeyedVectors

Opened = tuple[list[str] | None, np.ndarray]
"""The words, or None where only the array is wanted, and the vectors (V, C)."""

LOOP = "naive loop (split, float)"
PEERS = ("pandas", "polars", "gensim")


# --- ways to open a text --------------------------------------------------------------------


def naive_loop(text: Path) -> Opened:
    words, rows = [], []
    with open(text, encoding="utf-8", newline="\n") as file:
        for line in file:
            word, *numbers = line.rstrip().split(" ")
            words.append(word)
            rows.append(np.array([float(number) for number in numbers], dtype=np.float32))
    return words, np.stack(rows)


def loadtxt(text: Path) -> Opened:
    words, numbers = [], io.BytesIO()  # np.loadtxt cannot read words and numbers into one array
    with open(text, "rb") as file:
        for line in file:
            word, _, rest = line.partition(b" ")
            words.append(word.decode("utf-8"))
            numbers.write(rest)
    numbers.seek(0)
    return words, np.loadtxt(numbers, dtype=np.float32, comments=None, ndmin=2)


def open_store(text: Path) -> Opened:
    vectors = open_glove(_dim(text), text.parent)
    return vectors.words, vectors.vectors


def first_open(text: Path) -> Opened:
    text.with_suffix(".npy").unlink(missing_ok=True)
    return open_store(text)


def array_only(text: Path) -> Opened:
    return None, open_glove(_dim(text), text.parent).vectors


def with_pandas(text: Path) -> Opened:
    return _of_pandas(_read_with_pandas(text))


def with_pandas_later(text: Path) -> Opened:
    import pandas

    stored = text.with_suffix(".pickle")
    if not stored.exists():
        _read_with_pandas(text).to_pickle(stored)
    return _of_pandas(pandas.read_pickle(stored))


def _read_with_pandas(text: Path) -> "pandas.DataFrame":
    import pandas

    return pandas.read_csv(
        text,
        sep=" ",
        header=None,
        quoting=csv.QUOTE_NONE,
        na_filter=False,
        encoding="utf-8",
        lineterminator="\n",
        dtype={0: str, **{column: np.float32 for column in range(1, _dim(text) + 1)}},
    )


def _of_pandas(frame: "pandas.DataFrame") -> Opened:
    return frame[0].tolist(), frame.iloc[:, 1:].to_numpy()


def with_polars(text: Path) -> Opened:
    return _of_polars(_read_with_polars(text))


def with_polars_later(text: Path) -> Opened:
    import polars

    stored = text.with_suffix(".arrow")
    if not stored.exists():
        _read_with_polars(text).write_ipc(stored)
    return _of_polars(polars.read_ipc(stored))


def _read_with_polars(text: Path) -> "polars.DataFrame":
    import polars

    columns = {f"{column}": polars.Float32 for column in range(_dim(text))}
    return polars.read_csv(
        text,
        separator=" ",
        has_header=False,
        quote_char=None,
        schema={"word": polars.String, **columns},
    )


def _of_polars(frame: "polars.DataFrame") -> Opened:
    return frame["word"].to_list(), frame.drop("word").to_numpy()


def with_gensim(text: Path) -> Opened:
    return _of_gensim(_read_with_gensim(text))


def with_gensim_later(text: Path) -> Opened:
    from gensim.models import KeyedVectors

    stored = text.with_suffix(".gensim")
    if not stored.exists():
        _read_with_gensim(text).save(str(stored))
    return _of_gensim(KeyedVectors.load(str(stored), mmap="r"))


def _read_with_gensim(text: Path) -> "KeyedVectors":
    from gensim.models import KeyedVectors

    return KeyedVectors.load_word2vec_format(str(text), no_header=True)


def _of_gensim(keyed: "KeyedVectors") -> Opened:
    return keyed.index_to_key, keyed.vectors


def _dim(text: Path) -> int:
    with open(text, "rb") as file:
        return file.readline().count(b" ")


def ways_to_open() -> dict[str, Callable[[Path], Opened]]:
    """Ours, numpy's, and those of the peers that are installed."""
    ways = {
        LOOP: naive_loop,
        "np.loadtxt": loadtxt,
        "open_glove, first": first_open,
        "open_glove, later": open_store,
        "open_glove, later, array only": array_only,
    }
    of_peers = {
        "pandas": {
            "pandas.read_csv": with_pandas,
            "pandas.read_pickle, later": with_pandas_later,
        },
        "polars": {
            "polars.read_csv": with_polars,
            "polars.read_ipc, later": with_polars_later,
        },
        "gensim": {
            "gensim, load_word2vec_format": with_gensim,
            "gensim, load(mmap='r'), later": with_gensim_later,
        },
    }
    for peer in installed():
        ways |= of_peers[peer]
    return ways


def installed() -> list[str]:
    return [peer for peer in PEERS if importlib.util.find_spec(peer)]


# --- ways to find the ten nearest rows ------------------------------------------------------


def ways_to_query(
    query: np.ndarray, words: list[str], vectors: np.ndarray
) -> dict[str, tuple[Callable[[], object], int]]:
    """By name: a call that gives ten row numbers, and the bytes that it keeps beside `vectors`."""
    rows, wanted = torch.from_numpy(vectors.copy()), torch.from_numpy(query.copy())
    units, lengths = normalize(rows, dim=1), rows.norm(dim=1).clamp_min(1e-12)
    unit_array, length = units.numpy(), np.linalg.norm(query)

    def nearest_with_numpy() -> np.ndarray:
        similarities = unit_array @ (query / length)
        best = np.argpartition(similarities, -10)[-10:]
        return best[np.argsort(-similarities[best])]

    def nearest_by_lengths() -> torch.Tensor:
        return ((rows @ normalize(wanted, dim=0)) / lengths).topk(10).indices

    ready = WordVectors("".join(f"{word}\n" for word in words).encode("utf-8"), vectors.copy())

    def nearest_ready() -> list[int]:
        return [ready.index[word] for word, _ in ready.nearest(query)]

    ways = {
        "ours: nearest_by_cosine": (lambda: nearest_by_cosine(wanted, rows, 10)[0], 0),
        "PyTorch, lengths kept": (nearest_by_lengths, lengths.nbytes),
        "ours: WordVectors.nearest, unit rows kept": (nearest_ready, units.nbytes),
        "numpy, unit rows kept": (nearest_with_numpy, unit_array.nbytes),
    }
    if "gensim" in installed():
        from gensim.models import KeyedVectors

        keyed = KeyedVectors(vectors.shape[1])
        keyed.index_to_key = words
        keyed.key_to_index = {word: row for row, word in enumerate(words)}
        keyed.vectors = vectors
        keyed.fill_norms()

        def nearest_with_gensim() -> list[int]:
            found = keyed.similar_by_vector(query, topn=10)
            return [keyed.key_to_index[word] for word, _ in found]

        ways["gensim, lengths kept"] = (nearest_with_gensim, keyed.norms.nbytes)
    return ways


# --- side by side ---------------------------------------------------------------------------


def check_opened(ways: dict[str, Callable[[Path], Opened]], text: Path) -> Opened:
    """What all of them find in a text; this also stores what the later ones read."""
    want = naive_loop(text)
    for name, read in ways.items():
        words, vectors = read(text)
        same_words = words is None or words == want[0]
        if not (same_words and vectors.dtype == np.float32 and np.array_equal(vectors, want[1])):
            raise SystemExit(f"{name} reads other words or numbers, so nothing is timed.")
    return want


def report_opening(ways: dict[str, Callable[[Path], Opened]], text: Path, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / text.name
        make_text(small, 2, _dim(text))
        resident = {name: resident_growth(read, small, text) for name, read in ways.items()}
    spent = in_turns({name: partial(read, text) for name, read in ways.items()}, repeats)
    print("| way to open it | s | processor s | times as fast as the loop | resident, MB |")
    print("|---|--:|--:|--:|--:|")
    for name, one in spent.items():
        print(
            f"| {name} | {one.wall:.4f} | {one.cpu:.4f} | {spent[LOOP].cpu / one.cpu:,.1f} "
            f"| {resident[name] / 1e6:.0f} |"
        )
    known = "" if platform.system() == "Linux" else "\nResident memory is known on Linux only.\n"
    print(known, flush=True)


def report_queries(words: list[str], vectors: np.ndarray, repeats: int) -> None:
    query = vectors[len(vectors) // 1000] + vectors[len(vectors) // 500]
    ways = ways_to_query(query, words, vectors)
    want = nearest_by_cosine(torch.from_numpy(query), torch.from_numpy(vectors), 10)[0].tolist()
    for name, (find, _) in ways.items():
        if set(map(int, find())) != set(want):
            raise SystemExit(f"{name} finds other rows, so nothing is timed.")
    keep_freed_memory()
    spent = in_turns({name: find for name, (find, _) in ways.items()}, 5 * repeats, 0.02)
    ours = next(iter(spent.values())).cpu
    print("| way to find the ten nearest rows | ms | processor ms | times ours | kept, MB |")
    print("|---|--:|--:|--:|--:|")
    for name, one in spent.items():
        kept = ways[name][1] / 1e6
        print(
            f"| {name} | {1000 * one.wall:.2f} | {1000 * one.cpu:.2f} | {one.cpu / ours:.2f} "
            f"| {kept:.1f} |"
        )


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(1)
    print(f"{machine()}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        text = _private_copy(arguments, Path(folder))
        kind = "synthetic" if arguments.text is None else arguments.text.name
        ways = ways_to_open()
        try:
            first_open(text)
        except ValueError as error:  # a damaged text, or something else
            raise SystemExit(str(error)) from None
        words, vectors = check_opened(ways, text)
        size = f"{len(words):,} rows of {_dim(text)}, {text.stat().st_size:,} bytes"
        print(f"{size} ({kind}); medians of {arguments.repeats}.\n", flush=True)
        report_opening(ways, text, arguments.repeats)
        report_queries(words, vectors, arguments.repeats)
    for peer in sorted(set(PEERS) - set(installed())):
        print(f"\nLeft out: {peer}, which is not installed; the extra `bench` installs it.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the ways to open and query a GloVe text.")
    parser.add_argument(
        "text", type=Path, nargs="?", help="a GloVe text (default: the fetched one)"
    )
    parser.add_argument("--rows", type=positive, help="only the first ones (synthetic: 100,000)")
    parser.add_argument("--repeats", type=positive, default=3)
    parser.add_argument("--quick", action="store_true", help="only see whether all of it works")
    arguments = parser.parse_args()
    if arguments.text and not arguments.text.is_file():
        parser.error(f"there is no text {arguments.text}")
    if arguments.quick:
        arguments.rows, arguments.repeats = arguments.rows or 2_000, 1
    fetched = data_folder() / "glove.6B.50d.txt"
    if not arguments.text and fetched.exists():
        arguments.text = fetched
    return arguments


def _private_copy(arguments: argparse.Namespace, folder: Path) -> Path:
    """The text under the name that `open_glove` looks for, where it may write beside it."""
    if arguments.text is None:
        make_text(folder / "glove.6B.50d.txt", arguments.rows or 100_000)
        return folder / "glove.6B.50d.txt"
    copy = folder / f"glove.6B.{_dim(arguments.text)}d.txt"
    with open(arguments.text, "rb") as whole, open(copy, "wb") as file:
        file.writelines(islice(whole, arguments.rows))  # None: all of them
    return copy


def make_text(path: Path, n_rows: int, dim: int = 50) -> None:
    random = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for row in range(n_rows):
            numbers = " ".join(f"{number:.5g}" for number in random.normal(0, 0.6, dim))
            file.write(f"word{row} {numbers}\n")


if __name__ == "__main__":
    main()
