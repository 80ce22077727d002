"""A small GPT on TinyShakespeare: that of lesson 8 by our settings, and nanoGPT's by its own.

    python benchmarks/gpt.py [--seeds 2] [--quick]

TinyShakespeare must have been fetched (`course data tinyshakespeare`), but for --quick. nanoGPT's
settings are those that its README publishes for a laptop's processor: 4 layers, 4 heads, 128
features, 12 windows of 64 characters a step, 2,000 steps, AdamW with beta2 0.99, a learning rate of
1e-3 that falls along a cosine to 1e-4 after 100 steps. Its model, with learned positions, is
written here from GPT-2's description. Both are asked for every character of the held-out tenth, in
the same windows of 64.
Times are processor seconds in one thread, for the steps alone.
"""

import dataclasses
import math
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measuring import arguments_of, machine
from course.data.batches import get_batch
from course.data.corpus import load_corpus
from course.experiments.gpt import LONG, WITH, GPTTraining
from course.experiments.training import TrainingSettings

PUBLISHED = TrainingSettings(
    LONG.size, steps=2000, batch_size=12, lr=1e-3, context=64, warm_up=100, last_rate=0.1
)


class PublishedGPT(nn.Module):
    """A GPT with learned positions: (B, T) -> (B, T, V).

    Source: Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section
    2.3; no biases and no dropout, as nanoGPT has it here.
    """

    def __init__(self, vocab_size: int, settings: TrainingSettings) -> None:
        super().__init__()
        n_embd, n_layers = settings.size.n_embd, settings.size.n_layers
        self.tokens = nn.Embedding(vocab_size, n_embd)
        self.positions = nn.Embedding(settings.context, n_embd)
        self.blocks = nn.ModuleList(
            PublishedBlock(n_embd, settings.size.n_heads) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(n_embd, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                into_the_sum = name.endswith(("mixed.weight", "narrow.weight"))
                std = 0.02 / math.sqrt(2 * n_layers) if into_the_sum else 0.02
                nn.init.normal_(weight, std=std)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


class PublishedBlock(nn.Module):
    """Attention, then a small network, each added to what came in: (B, T, C)."""

    def __init__(self, n_embd: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1, self.norm2 = nn.LayerNorm(n_embd, bias=False), nn.LayerNorm(n_embd, bias=False)
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.mixed = nn.Linear(n_embd, n_embd, bias=False)
        self.wide = nn.Linear(n_embd, 4 * n_embd, bias=False)
        self.narrow = nn.Linear(4 * n_embd, n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(self.norm1(x)).unflatten(-1, (3, self.n_heads, -1))
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mixed(seen.transpose(1, 2).flatten(-2))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class PublishedTraining(GPTTraining):
    """nanoGPT's training: decay for matrices only, gradients no longer than 1."""

    def __init__(self, scheme: str, settings: TrainingSettings, text: str) -> None:
        super().__init__(scheme, settings, text)
        matrices = [weight for weight in self.model.parameters() if weight.dim() == 2]
        others = [weight for weight in self.model.parameters() if weight.dim() != 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
            betas=(0.9, 0.99),
        )
        self.optimizer.register_step_pre_hook(self._clip)

    def new_model(self, scheme: str) -> nn.Module:
        return PublishedGPT(self.tokenizer.vocab_size, self.settings)

    def _clip(self, *_: object) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def batch_loss(self) -> Tensor:
        settings = self.settings
        inputs, targets = get_batch(
            self.train_ids, settings.context, settings.batch_size, self.generator
        )
        return F.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())


CONTESTANTS: dict[str, tuple[type[GPTTraining], TrainingSettings]] = {
    "lesson 8's GPT, our settings": (GPTTraining, LONG),
    "nanoGPT's model and settings": (PublishedTraining, PUBLISHED),
}


def main() -> None:
    arguments = arguments_of(__doc__, seeds=2)
    corpus = load_corpus()
    if corpus.name != "tinyshakespeare" and not arguments.quick:
        raise SystemExit("TinyShakespeare is not here; fetch it with: course data tinyshakespeare")
    torch.set_num_threads(1)
    text = corpus.text[:20_000] if arguments.quick else corpus.text
    print(f"{machine()}\n", flush=True)
    print("| model | seed | characters read | held-out loss, nats | processor s | s |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    for seed in range(1 if arguments.quick else arguments.seeds):
        for name, (kind, settings) in CONTESTANTS.items():
            settings = dataclasses.replace(
                settings, seed=seed, steps=3 if arguments.quick else settings.steps
            )
            training, start = kind(WITH, settings, text), time.perf_counter()
            training.run()
            wall = time.perf_counter() - start
            read = settings.steps * settings.batch_size * settings.context
            loss = training.whole_held_out_loss()
            print(
                f"| {name} | {seed} | {read:,} | {loss:.3f} | {training.seconds:.0f} "
                f"| {wall:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
