"""SmolLM2 on lesson 9's functions, in `transformers` and in llama.cpp: logits and speed.

    python benchmarks/llama.py [--tokens 2000] [--new 48] [--rounds 3] [--quick]

`course data smollm2` fetches the model. `transformers` and `xllamacpp`, which has llama.cpp inside,
are in the extra `bench`. All read the same GGUF file: ours and `transformers` compute in float32,
llama.cpp with the file's 4 bits. Logits are compared on the same text, and all write after the same
prompt, in turns, in one thread. A way that is not installed is left out, and named.
"""

import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.measuring import arguments_of, in_turns, machine
from course.core.syllabus import find_lesson
from course.data import data_folder
from course.data.published import FILE, PublishedModel, open_smollm2
from course.experiments.llama import load, sample_ids
from course.student.exercises import reference_exercises

PROMPT = "The king of a small country wrote a letter to his daughter. It said:"


def of_transformers() -> nn.Module:
    """Return the model as `transformers` reads it."""
    from transformers import AutoModelForCausalLM

    folder = str(data_folder())
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32).eval()


def of_llama_cpp() -> Callable[[int], object]:
    """Return what writes so many tokens with llama.cpp."""
    from xllamacpp import CommonParams, Server

    settings = CommonParams()
    settings.model.path = str(data_folder() / FILE)
    settings.n_ctx, settings.n_parallel, settings.verbosity = 1024, 1, -1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = Server(settings)
    asked = {"prompt": PROMPT, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
    return lambda n_new: server.handle_completions({**asked, "n_predict": n_new})


@torch.no_grad()
def compare(ours: nn.Module, theirs: nn.Module, ids: Tensor) -> None:
    """Print how far two models' logits are apart.

    Raises:
        SystemExit: they are not those of the same model.
    """
    one, other = ours(ids)[0], theirs(ids).logits[0]  # (T, V) each
    largest, spread = (one - other).abs().max().item(), one.std().item()
    agreed = (one.argmax(-1) == other.argmax(-1)).float().mean().item()
    print(
        f"Logits of {ids.shape[1]:,} tokens, ours and those of transformers: largest difference "
        f"{largest:.1e} (their standard deviation is {spread:.1f}), same first choice "
        f"{agreed:.2%}.\n",
        flush=True,
    )
    if largest > 0.01 or agreed < 0.999:
        raise SystemExit("that is another model: nothing is timed")


def writers(
    published: PublishedModel, ours: nn.Module, theirs: nn.Module | None, n_new: int
) -> dict[str, Callable[[], object]]:
    """Return what writes `n_new` tokens after the prompt, by its name."""
    ids = torch.tensor([published.tokenizer.encode(PROMPT).ids])
    generate = reference_exercises(find_lesson("gpt")).generate
    ways: dict[str, Callable[[], object]] = {
        "ours, `generate` of lesson 8": lambda: generate(ours, ids, n_new, temperature=0)
    }
    if theirs is not None:
        ways["transformers, `generate`"] = lambda: theirs.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=n_new,
            min_new_tokens=n_new,
            do_sample=False,
        )
    if importlib.util.find_spec("xllamacpp"):
        write = of_llama_cpp()
        ways["llama.cpp, 4 bits"] = lambda: write(n_new)
    return ways


def main() -> None:
    arguments = arguments_of(__doc__, tokens=2000, new=48, rounds=3)
    n_tokens, n_new, rounds = arguments.tokens, arguments.new, arguments.rounds
    if arguments.quick:
        n_tokens, n_new, rounds = 40, 3, 1
    try:
        published = open_smollm2()
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    torch.set_num_threads(1)
    print(f"{machine()}\n", flush=True)
    ours, _ = load(published)
    has_transformers = importlib.util.find_spec("transformers") is not None
    theirs = of_transformers() if has_transformers else None
    if theirs is not None:
        compare(ours, theirs, sample_ids(published, n_tokens)[1])
    ways = writers(published, ours, theirs, n_new)
    spent = in_turns(ways, rounds)
    ours_takes = spent["ours, `generate` of lesson 8"].cpu
    print("| way | tokens per processor second | per second | times ours |\n|---|--:|--:|--:|")
    for name, one in spent.items():
        times_ours = ours_takes / one.cpu
        print(f"| {name} | {n_new / one.cpu:.1f} | {n_new / one.wall:.1f} | {times_ours:.2f} |")
    for name, module in (("transformers", "transformers"), ("llama.cpp", "xllamacpp")):
        if not importlib.util.find_spec(module):
            print(f"| {name} | not installed | | |")


if __name__ == "__main__":
    main()
