"""Shifted PMI: the matrix that skip-gram factorizes, counted instead of trained.

Levy and Goldberg (2014), "Neural Word Embedding as Implicit Matrix Factorization", NIPS: with
features enough, each dot product of a center row and a context row comes to rest at PMI - log K.
Shapes: N words of text, V different ones, C features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

EDGES = (2, 20)
"""Pairs are sorted by how often they meet: seldom, sometimes from 2, often from 20."""


def cooccurrences(ids: Tensor, vocab_size: int, window: int = 5, block: int = 32) -> Tensor:
    """Return how often each two words meet, weighed as `train_in_blocks` weighs them.

    Args:
        ids: the text, (N,), integers.
        vocab_size: V.
        window: the largest distance of a neighbor; a near one counts more, down to 1 / window.
        block: of those at distance d, d / block are lost at the edges of blocks, in the mean
            over where these may lie.

    Returns:
        (V, V), symmetric.

    >>> cooccurrences(torch.tensor([0, 1, 2]), 3, window=2, block=4)
    tensor([[0.0000, 0.7500, 0.2500],
            [0.7500, 0.0000, 0.7500],
            [0.2500, 0.7500, 0.0000]])
    """
    one_way = torch.zeros(vocab_size * vocab_size)
    for distance in range(1, window + 1):
        weight = (1 - (distance - 1) / window) * (1 - distance / block)
        pairs = ids[:-distance].long() * vocab_size + ids[distance:]
        one_way.index_add_(0, pairs, torch.full((len(pairs),), weight))
    one_way = one_way.view(vocab_size, vocab_size)
    return one_way + one_way.T


def shifted_pmi(together: Tensor, noise: Tensor, n_negatives: int = 5) -> Tensor:
    """Return PMI - log K of all pairs: where the loss of skip-gram would have their scores rest.

    Args:
        together: how often each two words meet, (V, V); every word meets some other.
        noise: the distribution that negatives are drawn from, (V,). It stands for the share of
            the contexts in PMI, so its power of 0.75 is part of "chance" here.
        n_negatives: K; 1 gives PMI itself.

    Returns:
        (V, V), minus infinity for two words that never meet.

    Source: Levy and Goldberg (2014), section 3.1.

    >>> shifted_pmi(torch.tensor([[0.0, 3.0], [3.0, 6.0]]), torch.tensor([0.25, 0.75]), 2).exp()
    tensor([[0.0000, 0.6667],
            [0.6667, 0.4444]])
    """
    by_chance = together.sum(1, keepdim=True) * noise
    return (together / by_chance).log() - math.log(n_negatives)


def svd_vectors(scores: Tensor, n_embd: int) -> Tensor:
    """Return word vectors (V, C) from what is positive in `scores` (V, V): no training.

    They are the first C left singular vectors, each times the root of its singular value, so that
    rows times rows of the other side give the nearest matrix of rank C.

    Source: Levy and Goldberg (2014), section 4.2.

    >>> svd_vectors(torch.tensor([[4.0, 0.0], [-torch.inf, 1.0]]), 1).abs().round()
    tensor([[2.],
            [0.]])
    """
    with torch.random.fork_rng(devices=[]):  # svd_lowrank draws from the global generator
        torch.manual_seed(0)
        left, strengths, _ = torch.svd_lowrank(
            scores.clamp(min=0), q=min(n_embd + 10, len(scores)), niter=4
        )
    return left[:, :n_embd] * strengths[:n_embd].sqrt()


@dataclass(frozen=True)
class Fit:
    """How near the scores of some pairs come to PMI - log K.

    Attributes:
        at_least: how often these pairs meet, and less often than those of the next `Fit`.
        n_pairs: how many they are.
        correlation: of scores and PMI - log K.
        distance: root mean square of the difference, in nats.
    """

    at_least: float
    n_pairs: int
    correlation: float
    distance: float


def fits(
    scores: Tensor, wanted: Tensor, together: Tensor, edges: Sequence[float] = EDGES
) -> list[Fit]:
    """Compare the scores of a model with PMI - log K, by how often pairs meet, all (V, V).

    >>> wanted = torch.tensor([[-torch.inf, 1.0, 2.0]])
    >>> (fit,) = fits(wanted.clamp(min=-9) + 3, wanted, torch.tensor([[0.0, 7.0, 7.0]]))
    >>> fit.at_least, fit.n_pairs, round(fit.correlation, 4), fit.distance
    (2, 2, 1.0, 3.0)
    """
    found = []
    for low, high in zip((0, *edges), (*edges, math.inf), strict=True):
        among = (together > 0) & (together >= low) & (together < high)
        pairs = torch.stack((scores[among], wanted[among])).double()
        if among.sum() > 1:
            distance = (pairs[0] - pairs[1]).square().mean().sqrt().item()
            correlation = torch.corrcoef(pairs)[0, 1].item()
            found.append(Fit(low, int(among.sum()), correlation, distance))
    return found
