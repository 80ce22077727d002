"""RoPE for longer texts than it was trained on, by changing its angles afterwards."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from course.experiments.character_gpt import LONGEST
from course.experiments.training import CONTEXT, Training
from course.student.borrow import names_of


def stretched_losses(training: Training, lengths: Sequence[int]) -> dict[str, dict[int, float]]:
    """The held-out losses of a trained RoPE model whose angles are changed afterwards.

    Where a text is f times as long as those of the training, "ntk" enlarges the base by
    `ntk_base(base, f, D)`, and "linear" divides every position by f.

    Source: Peng et al. (2023), "YaRN", arXiv:2309.00071, section 3.1; Chen et al. (2023),
    "Extending Context Window of Large Language Models via Positional Interpolation",
    arXiv:2306.15595.
    """
    model, rope = training.model, names_of("rope")
    trained, head_dim = (
        model.turned,
        training.settings.size.n_embd // training.settings.size.n_heads,
    )
    losses: dict[str, dict[int, float]] = {"ntk": {}, "linear": {}}
    for length in lengths:
        factor = length / CONTEXT
        turns = {
            "ntk": rope.RotaryEmbedding(
                LONGEST, head_dim, rope.ntk_base(10000.0, factor, head_dim)
            ),
            "linear": SqueezedRope(factor, head_dim),
        }
        for way, model.turned in turns.items():
            losses[way][length] = training.held_out_loss(length)
    model.turned = trained
    return losses


class SqueezedRope(nn.Module):
    """RoPE at positions 0, 1/f, 2/f, ...: (..., T, D) in and out."""

    def __init__(self, factor: float, head_dim: int) -> None:
        super().__init__()
        positions = torch.arange(LONGEST) / factor
        angles = torch.outer(positions, 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim))
        angles = torch.cat((angles, angles), dim=-1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, x: Tensor) -> Tensor:
        seq_len = x.shape[-2]
        return names_of("rope").apply_rope(x, self.cos[:seq_len], self.sin[:seq_len])
