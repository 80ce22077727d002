"""Skip-gram on all of TinyShakespeare: ours, the fast one and the readable one, and gensim.

    python benchmarks/skipgram.py [--repeats 3] [--quick]

TinyShakespeare must have been fetched (`course data tinyshakespeare`); gensim is compared where it
is installed (the extra `bench`). All train vectors of 64 numbers with window 5 and 5 negatives, in
one thread, and score the share of split words whose twin is the nearest (see
course/lessons/skipgram/twins.py). Times are processor seconds, medians; shares are means.
"""

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.measuring import arguments_of, machine
from course.data.corpus import load_corpus
from course.lessons.skipgram.block_skipgram import train_in_blocks
from course.lessons.skipgram.twins import TwinText, share_of_twins_found, with_twins
from solutions.skipgram import SkipGram, noise_distribution, skipgram_pairs, train_skipgram

SIZE, WINDOW = 64, 5


def in_blocks(text: TwinText, seed: int, **settings: float) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    options = {"window": WINDOW, "generator": generator, **settings}
    return train_in_blocks(text.ids, text.counts, SIZE, **options)[0]


def readable(text: TwinText, seed: int, **settings: float) -> Tensor:
    torch.manual_seed(seed)
    model = SkipGram(len(text.counts), SIZE)
    pairs = skipgram_pairs(text.ids, WINDOW)
    train_skipgram(model, *pairs, noise_distribution(text.counts), **settings)
    return model.center.weight.detach()


def gensim(text: TwinText, seed: int, **settings: float) -> Tensor:
    from gensim.models import Word2Vec

    words = [str(number) for number in text.ids.tolist()]
    sentences = [words[start : start + 10_000] for start in range(0, len(words), 10_000)]
    model = Word2Vec(
        **{"vector_size": SIZE, "window": WINDOW, "negative": 5, "sg": 1, "min_count": 1},
        **{"workers": 1, "seed": seed, "sentences": sentences, **settings},
    )
    rows = [model.wv.key_to_index[str(number)] for number in range(len(text.counts))]
    return torch.from_numpy(model.wv.vectors[rows])


CONTESTANTS: list[tuple[str, Callable[..., Tensor], dict[str, float]]] = [
    ("in blocks", in_blocks, {}),
    ("in blocks, 5 epochs", in_blocks, {"epochs": 5}),
    ("gensim, default settings (5 epochs)", gensim, {}),
    ("gensim, alpha 0.05", gensim, {"alpha": 0.05}),
    ("gensim, 20 epochs", gensim, {"epochs": 20}),
    (
        "exercise, 3 epochs, batch 4096, lr 0.005",
        readable,
        {"epochs": 3, "batch_size": 4096, "lr": 0.005},
    ),
]


def main() -> None:
    arguments = arguments_of(__doc__, repeats=3)
    corpus = load_corpus()
    if corpus.name != "tinyshakespeare" and not arguments.quick:
        raise SystemExit("TinyShakespeare is not here; fetch it with: course data tinyshakespeare")
    torch.set_num_threads(1)
    text = with_twins(corpus.text[:50_000] if arguments.quick else corpus.text)
    repeats = 1 if arguments.quick else arguments.repeats
    has_gensim = importlib.util.find_spec("gensim") is not None
    if has_gensim:
        importlib.import_module("gensim.models")  # now, so that nobody's time includes it
    contestants = [one for one in CONTESTANTS if has_gensim or one[1] is not gensim]
    print(f"{machine()}\n")
    print(f"{len(text.ids):,} words, {len(text.counts):,} types, {len(text.twins)} split in two\n")
    seconds: dict[str, list[float]] = {name: [] for name, *_ in contestants}
    shares: dict[str, list[float]] = {name: [] for name, *_ in contestants}
    for seed in range(1, repeats + 1):
        for name, train, settings in contestants:
            start = time.process_time()
            vectors = train(text, seed, **settings)
            seconds[name].append(time.process_time() - start)
            shares[name].append(share_of_twins_found(vectors, text.twins))
    ours = statistics.median(seconds[contestants[0][0]])
    print("| way | processor s | times ours | twins found |\n|---|--:|--:|--:|")
    for name, *_ in contestants:
        median = statistics.median(seconds[name])
        share = statistics.mean(shares[name])
        print(f"| {name} | {median:.2f} | {median / ours:.1f} | {share:.3f} |")
    if not has_gensim:
        print("\nLeft out: gensim, which is not installed; the extra `bench` installs it.")


if __name__ == "__main__":
    main()
