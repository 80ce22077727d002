"""Training a character GPT, step by step, so that it can be put down and taken up again."""

import io
import math
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from course.data.batches import get_batch, train_val_split
from course.data.tokenizers import CharTokenizer
from course.experiments.character_gpt import CharacterGPT, Size

CONTEXT = 64
"""Characters that a model reads at once while it trains."""

N_EVALUATED = 16_384
"""Characters of the held-out text on which a loss is measured."""


@dataclass(frozen=True)
class Settings:
    """All that a training depends on besides the code and the text."""

    size: Size
    steps: int
    batch_size: int
    lr: float
    seed: int = 0


QUICK = Settings(Size(n_layers=1, n_embd=64, n_heads=4), steps=600, batch_size=16, lr=4e-3)
"""Enough to tell the schemes apart."""

LONG = Settings(Size(n_layers=2, n_embd=96, n_heads=4), steps=600, batch_size=32, lr=3e-3)
"""Larger models, some seven times the work."""


class Training:
    """A model on its way.

    Args:
        text: the corpus; its first nine tenths are trained on.
        noted: what an earlier training noted, to go on from there as if nothing had happened.
    """

    def __init__(
        self, scheme: str, settings: Settings, text: str, noted: dict[str, Any] | None = None
    ):
        self.settings = settings
        self.tokenizer = CharTokenizer.from_text(text)
        ids = torch.tensor(self.tokenizer.encode(text))
        self.train_ids, self.held_out_ids = train_val_split(ids)
        torch.manual_seed(settings.seed)
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.model = CharacterGPT(self.tokenizer.vocab_size, settings.size, scheme)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=settings.lr, betas=(0.9, 0.95), weight_decay=0.1
        )
        self.seconds, self.losses = 0.0, []
        if noted:
            self.model.load_state_dict(noted["model"])
            self.optimizer.load_state_dict(noted["optimizer"])
            self.generator.set_state(noted["generator"])
            self.seconds, self.losses = noted["seconds"], noted["losses"]

    @property
    def step(self) -> int:
        """How many steps are done."""
        return len(self.losses)

    def noted(self) -> bytes:
        """Where it is, to go on from later."""
        data = io.BytesIO()
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        state |= {"generator": self.generator.get_state()}
        torch.save(state | {"seconds": self.seconds, "losses": self.losses}, data)
        return data.getvalue()

    def take_step(self) -> None:
        """Learn from one batch."""
        start = time.process_time()
        lr = self.settings.lr * rate(self.step, self.settings.steps)
        self.optimizer.param_groups[0]["lr"] = lr
        batch_size = self.settings.batch_size
        inputs, targets = get_batch(self.train_ids, CONTEXT, batch_size, self.generator)
        loss = F.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        self.seconds += time.process_time() - start

    @torch.no_grad()
    def held_out_loss(self, length: int) -> float:
        """The mean loss over windows of this length, spread evenly over the held-out text."""
        last = len(self.held_out_ids) - length - 1
        starts = torch.linspace(0, last, N_EVALUATED // length).long()
        places = starts[:, None] + torch.arange(length)
        logits = self.model(self.held_out_ids[places])
        return F.cross_entropy(logits.flatten(0, 1), self.held_out_ids[places + 1].flatten()).item()

    @torch.no_grad()
    def sample(self, n_characters: int = 200) -> str:
        """What the model writes after a line break, one character after the other."""
        generator = torch.Generator().manual_seed(self.settings.seed)
        written = [self.tokenizer.encode("\n")[0]]
        for _ in range(n_characters):
            logits = self.model(torch.tensor([written[-CONTEXT:]]))[0, -1]
            written += torch.multinomial(logits.softmax(-1), 1, generator=generator).tolist()
        return self.tokenizer.decode(written[1:])


def rate(step: int, steps: int) -> float:
    """The learning rate of a step, as a share of the highest: up, then down along a cosine.

    >>> [round(rate(step, 600), 2) for step in (0, 29, 300, 599)]
    [0.03, 0.99, 0.55, 0.1]
    """
    warm_up = min(1.0, (step + 1) / 30)
    return warm_up * (0.55 + 0.45 * math.cos(math.pi * step / steps))
