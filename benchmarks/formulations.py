"""Our readable formulas next to those of others: rotary positions, the sinusoidal table, lookup.

    python benchmarks/formulations.py [--rounds 31] [--quick]

Each formulation is written here from its published definition. All work in one run, in one thread
and on the same tensors (those that pair neighboring features get them reordered), and none is timed
before its answer is found equal to ours. Times are processor seconds, medians of rounds in which
all take turns. The floor is what the memory of this machine allows: a copy that reads the inputs
and writes the outputs once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.measuring import arguments_of, in_turns, keep_freed_memory, machine
from solutions.lookup import TokenEmbedding, lookup
from solutions.rope import RotaryEmbedding, apply_rope, rope_tables
from solutions.sinusoidal import inverse_frequencies, sinusoidal_encoding

FLOOR = "the floor"


@dataclass(frozen=True)
class Formulation:
    """One way to write a formula.

    Attributes:
        name: what to call it.
        run: the call that is timed.
        in_our_layout: reorders the features of its result as ours has them.
    """

    name: str
    run: Callable[[], Tensor]
    in_our_layout: Callable[[Tensor], Tensor] = lambda result: result


@dataclass(frozen=True)
class Problem:
    """The same work for several formulations.

    Attributes:
        title: what it is, with its sizes.
        ways: the formulations, ours first.
        floor: reads the inputs and writes the outputs once.
        tolerance: how far a right answer may be from ours.
        for_scale: other work of a model beside it, by name.
    """

    title: str
    ways: list[Formulation]
    floor: Callable[[], Tensor]
    tolerance: float
    for_scale: dict[str, Callable[[], Tensor]] = field(default_factory=dict)


# --- rotary positions: x is (B, H, T, D) ----------------------------------------------------


def turned_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """GPT-NeoX and the Llama of `transformers`: tables (T, D), pairs (i, D/2 + i)."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


def products_of_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """nanochat: tables (T, D/2), pairs (i, D/2 + i), each half of the result by itself."""
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


def complex_numbers(x: Tensor, rotations: Tensor) -> Tensor:
    """The first Llama: unit complex numbers (T, D/2), pairs (2i, 2i + 1)."""
    numbers = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(numbers * rotations).flatten(-2).type_as(x)


def interleaved_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoFormer, equation 34: tables (T, D), pairs (2i, 2i + 1)."""
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * cos + turned * sin


def stacked_pairs(x: Tensor, table: Tensor) -> Tensor:
    """torchtune: one table (T, D/2, 2) of cosines and sines, pairs (2i, 2i + 1)."""
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = table.unbind(-1)
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2).type_as(x)


def repeated_angles(x: Tensor, angles: Tensor) -> Tensor:
    """lucidrains: angles (T, D/2), cosines and sines taken in each call, pairs (2i, 2i + 1)."""
    angles = angles.repeat_interleave(2, dim=-1)  # (T, D)
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack((-odd, even), dim=-1).flatten(-2)
    return x * angles.cos() + turned * angles.sin()


def neighbors_from_halves(x: Tensor) -> Tensor:
    """Features i and D/2 + i become 2i and 2i + 1."""
    return x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)


def halves_from_neighbors(x: Tensor) -> Tensor:
    """Features 2i and 2i + 1 become i and D/2 + i."""
    return x.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)


def rope_problem(batch: int, heads: int, length: int, size: int, offset: int = 0) -> Problem:
    """Queries at positions offset .. offset + T - 1."""
    x = torch.randn(batch, heads, length, size, generator=torch.Generator().manual_seed(0))
    pairs = neighbors_from_halves(x)
    cos, sin = (table[offset:] for table in rope_tables(offset + length, size))
    half_cos, half_sin = (table[:, : size // 2].contiguous() for table in (cos, sin))
    pair_cos, pair_sin = (table.repeat_interleave(2, dim=-1) for table in (half_cos, half_sin))
    rotations, table = torch.complex(half_cos, half_sin), torch.stack((half_cos, half_sin), dim=-1)
    positions = torch.arange(offset, offset + length).double()
    angles = torch.outer(positions, inverse_frequencies(size)).float()
    module = RotaryEmbedding(offset + length, size)
    tokens, weight = (
        torch.randn(batch * length, heads * size),
        torch.randn(heads * size, heads * size),
    )

    def of_pairs(name: str, run: Callable, *tables: Tensor) -> Formulation:
        return Formulation(name, lambda: run(pairs, *tables), halves_from_neighbors)

    return Problem(
        f"Rotary positions of queries (B={batch}, H={heads}, T={length}, D={size}) "
        f"from position {offset} on",
        [
            Formulation("ours: apply_rope", lambda: apply_rope(x, cos, sin)),
            Formulation("ours: RotaryEmbedding", lambda: module(x, offset)),
            Formulation("rotated halves (GPT-NeoX)", lambda: turned_halves(x, cos, sin)),
            Formulation(
                "products of halves (nanochat)",
                lambda: products_of_halves(x, half_cos, half_sin),
            ),
            of_pairs("complex numbers (Llama)", complex_numbers, rotations),
            of_pairs("interleaved pairs (RoFormer)", interleaved_pairs, pair_cos, pair_sin),
            of_pairs("stacked pairs (torchtune)", stacked_pairs, table),
            of_pairs("angles repeated in each call (lucidrains)", repeated_angles, angles),
        ],
        floor=x.clone,
        tolerance=x.abs().max().item() * _error_of_float32_angles(offset + length),
        for_scale={"for comparison: the projection to these queries": lambda: tokens @ weight},
    )


# --- the sinusoidal table: (T, C) -----------------------------------------------------------


def by_division(length: int, n_embd: int) -> Tensor:
    """As in the paper's formula, in float32: position / 10000 ** (2i / C), by broadcasting."""
    even_columns = torch.arange(0, n_embd, 2)
    angles = torch.arange(length)[:, None] / 10000.0 ** (even_columns / n_embd)  # (T, C/2)
    return _sines_and_cosines_in_columns(angles)


def by_exponential(length: int, n_embd: int) -> Tensor:
    """As in PyTorch's tutorials and the Annotated Transformer: exp(2i * -log(10000) / C)."""
    rates = torch.exp(torch.arange(0, n_embd, 2) * (-math.log(10000.0) / n_embd))  # (C/2,)
    return _sines_and_cosines_in_columns(torch.arange(length)[:, None] * rates)


def by_complex_exponential(length: int, n_embd: int) -> Tensor:
    """Euler's formula, in float64: i * exp(-i * angle) is sin + i * cos."""
    positions = torch.arange(length, dtype=torch.float64)
    angles = torch.outer(positions, inverse_frequencies(n_embd))  # (T, C/2)
    return torch.view_as_real(1j * torch.exp(-1j * angles)).flatten(-2).float()


def _sines_and_cosines_in_columns(angles: Tensor) -> Tensor:
    table = torch.empty(len(angles), 2 * angles.shape[1])
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


def table_problem(length: int, n_embd: int) -> Problem:
    def way(name: str, run: Callable[[int, int], Tensor]) -> Formulation:
        return Formulation(name, lambda: run(length, n_embd))

    return Problem(
        f"The sinusoidal table (T={length}, C={n_embd})",
        [
            way("ours: sinusoidal_encoding, float64 angles", sinusoidal_encoding),
            way("division, float32", by_division),
            way("exp(log), float32", by_exponential),
            way("complex exponential, float64", by_complex_exponential),
        ],
        floor=lambda: torch.ones(length, n_embd),  # there is nothing to read
        tolerance=_error_of_float32_angles(length),
    )


def _error_of_float32_angles(length: int) -> float:
    """How far sines may be off that are taken of float32 angles: a few roundings of the largest."""
    return 4 * length * torch.finfo(torch.float32).eps


# --- lookup: ids (B, T) in a table (V, C) ---------------------------------------------------


def one_hot_product(weight: Tensor, ids: Tensor) -> Tensor:
    """A one-hot row per id, times the table."""
    return F.one_hot(ids, num_classes=len(weight)).to(weight.dtype) @ weight


def selected_rows(weight: Tensor, ids: Tensor) -> Tensor:
    """`index_select`, which takes a flat list of ids."""
    return weight.index_select(0, ids.flatten()).unflatten(0, ids.shape)


def lookup_problem(vocab_size: int, n_embd: int, batch: int, length: int) -> Problem:
    random = torch.Generator().manual_seed(0)
    module = TokenEmbedding(vocab_size, n_embd)
    weight = module.weight.detach()
    ids = torch.randint(vocab_size, (batch, length), generator=random)
    rows = weight[ids]
    return Problem(
        f"Lookup (B={batch}, T={length}) in a table (V={vocab_size}, C={n_embd})",
        [
            Formulation("ours: lookup", lambda: lookup(weight, ids)),
            Formulation("ours: TokenEmbedding", lambda: module(ids)),
            Formulation("F.embedding", lambda: F.embedding(ids, weight)),
            Formulation("index_select", lambda: selected_rows(weight, ids)),
            Formulation("weight[ids]", lambda: weight[ids]),
            Formulation("one-hot product", lambda: one_hot_product(weight, ids)),
        ],
        floor=rows.clone,
        tolerance=0.0,
    )


# --- side by side ---------------------------------------------------------------------------


def check(problem: Problem) -> None:
    """Refuse to time anything if one of the answers is not ours."""
    want = problem.ways[0].run()
    for way in problem.ways:
        got = way.in_our_layout(way.run())
        if got.shape != want.shape or got.dtype != want.dtype:
            raise SystemExit(
                f"{way.name} gives {tuple(got.shape)} of {got.dtype} where ours gives "
                f"{tuple(want.shape)} of {want.dtype}, so nothing is timed."
            )
        difference = (got - want).abs().max().item()
        if not difference <= problem.tolerance:  # NaN is wrong, too
            raise SystemExit(
                f"{way.name} differs from ours by {difference:.2g}, more than the "
                f"{problem.tolerance:.2g} that rounding explains, so nothing is timed."
            )


def report(problem: Problem, rounds: int) -> None:
    """Check, time and print a problem."""
    check(problem)
    works = {
        FLOOR: problem.floor,
        **{way.name: way.run for way in problem.ways},
        **problem.for_scale,
    }
    spent = in_turns(works, rounds, at_least=0.002)
    ours = problem.ways[0].name
    print(f"{problem.title}:\n")
    print("| way | ms | times ours | times the floor |\n|---|--:|--:|--:|")
    for name in works:
        print(
            f"| {name} | {1000 * spent[name].cpu:.3g} | {spent[name].cpu / spent[ours].cpu:.2f} "
            f"| {spent[name].cpu / spent[FLOOR].cpu:.2f} |"
        )
    print(flush=True)


def main() -> None:
    arguments = arguments_of(__doc__, rounds=31)
    torch.set_num_threads(1)
    keep_freed_memory()
    print(f"{machine()}\n", flush=True)
    with torch.no_grad():
        for problem in small_problems() if arguments.quick else problems():
            report(problem, 1 if arguments.quick else arguments.rounds)


def problems() -> list[Problem]:
    """A prompt and the next token of a small GPT, and the table for long texts."""
    return [
        rope_problem(batch=4, heads=12, length=1024, size=64),
        rope_problem(batch=4, heads=12, length=1, size=64, offset=1023),
        table_problem(length=4096, n_embd=768),
        lookup_problem(vocab_size=4096, n_embd=768, batch=4, length=1024),
        lookup_problem(vocab_size=4096, n_embd=768, batch=4, length=1),
    ]


def small_problems() -> list[Problem]:
    return [
        rope_problem(batch=2, heads=3, length=5, size=8, offset=3),
        table_problem(length=5, n_embd=6),
        lookup_problem(vocab_size=11, n_embd=6, batch=2, length=5),
    ]


if __name__ == "__main__":
    main()
