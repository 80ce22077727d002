"""How long a GloVe text takes to open: ours, np.loadtxt and the naive loop, side by side.

    python benchmarks/glove_open.py [TEXT] [--rows 100000] [--repeats 3]

Without TEXT a synthetic one is made: random numbers with five significant digits, as in
the real files. All contestants end with a list of words and a float32 array and must agree
exactly; the text lies in the page cache for everyone. Times are CPU seconds, medians.
"""

import argparse
import io
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from course.data.glove import open_glove


def naive_loop(text: Path) -> tuple[list[str], np.ndarray]:
    words, rows = [], []
    with open(text, encoding="utf-8", newline="\n") as file:
        for line in file:
            word, *numbers = line.rstrip().split(" ")
            words.append(word)
            rows.append(np.array([float(number) for number in numbers], dtype=np.float32))
    return words, np.stack(rows)


def loadtxt(text: Path) -> tuple[list[str], np.ndarray]:
    words, numbers = [], io.BytesIO()  # np.loadtxt cannot read words and numbers into one array
    with open(text, "rb") as file:
        for line in file:
            word, _, rest = line.partition(b" ")
            words.append(word.decode("utf-8"))
            numbers.write(rest)
    numbers.seek(0)
    return words, np.loadtxt(numbers, dtype=np.float32, comments=None, ndmin=2)


def open_store(text: Path) -> tuple[list[str], np.ndarray]:
    vectors = open_glove(_dim(text), text.parent)
    return vectors.words, vectors.vectors


def first_open(text: Path) -> tuple[list[str], np.ndarray]:
    for suffix in (".npy", ".words"):
        text.with_suffix(suffix).unlink(missing_ok=True)
    return open_store(text)


def array_only(text: Path) -> tuple[None, np.ndarray]:
    return None, open_glove(_dim(text), text.parent).vectors


def _dim(text: Path) -> int:
    with open(text, "rb") as file:
        return file.readline().count(b" ")


def make_text(path: Path, n_rows: int, dim: int = 50) -> None:
    random = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for row in range(n_rows):
            numbers = " ".join(f"{number:.5g}" for number in random.normal(0, 0.6, dim))
            file.write(f"word{row} {numbers}\n")


def measure(contestants: dict[str, Callable], text: Path, repeats: int) -> dict[str, float]:
    """Median CPU seconds of each contestant, which take turns."""
    seconds = {name: [] for name in contestants}
    want = naive_loop(text)
    for _ in range(repeats):
        for name, read in contestants.items():
            start = time.process_time()
            words, vectors = read(text)
            seconds[name].append(time.process_time() - start)
            assert words in (None, want[0]) and np.array_equal(vectors, want[1]), name
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the ways to open a GloVe text.")
    parser.add_argument("text", type=Path, nargs="?", help="a GloVe text (default: synthetic)")
    parser.add_argument("--rows", type=int, default=100_000, help="of the synthetic text")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    contestants = {
        "naive loop (split, float)": naive_loop,
        "np.loadtxt": loadtxt,
        "open_glove, first": first_open,
        "open_glove, later": open_store,
        "open_glove, later, array only": array_only,
    }
    with tempfile.TemporaryDirectory() as folder:
        text = _private_copy(arguments, Path(folder))
        seconds = measure(contestants, text, arguments.repeats)
        with open(text, "rb") as file:
            n_rows = sum(1 for _ in file)
        print(f"{n_rows:,} rows of {_dim(text)}, {text.stat().st_size:,} bytes\n")
    print("| way | CPU seconds | times as fast as the loop |\n|---|---|---|")
    for name, median in seconds.items():
        ratio = seconds["naive loop (split, float)"] / median
        print(f"| {name} | {median:.4f} | {ratio:,.1f} |")


def _private_copy(arguments: argparse.Namespace, folder: Path) -> Path:
    """The text under the name that `open_glove` looks for, where it may write beside it."""
    if arguments.text is None:
        make_text(folder / "glove.6B.50d.txt", arguments.rows)
        return folder / "glove.6B.50d.txt"
    copy = folder / f"glove.6B.{_dim(arguments.text)}d.txt"
    return Path(shutil.copyfile(arguments.text, copy))


if __name__ == "__main__":
    main()
