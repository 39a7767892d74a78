"""The measured training loops: a small GPT, a convolutional network and an MLP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

Batch = tuple[Tensor, Tensor]
SEED = 0


class Block(nn.Module):
    """Attention and feed-forward, both behind a layer norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu = nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        fed: Tensor = self.down(self.gelu(self.up(self.norm2(x))))
        return x + fed


class GPT(nn.Module):
    """A causal transformer over characters: 1.28 million parameters in 54 tensors."""

    def __init__(
        self,
        vocabulary: int = 65,
        length: int = 128,
        width: int = 160,
        layers: int = 4,
        heads: int = 4,
    ) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)
        self.register_buffer("order", torch.arange(length), persistent=False)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Tensor:
        """Return the logits of every position, or the loss if there are targets."""
        logits: Tensor = self.head(
            self.norm(self.blocks(self.tokens(tokens) + self.places(self.order)))
        )
        rows = logits.flatten(0, 1)
        return rows if targets is None else F.cross_entropy(rows, targets)


def cnn() -> nn.Module:
    """Return six convolutions and a linear layer: 14 parameter tensors."""
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 32), (32, 64), (64, 64), (64, 128), (128, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
        if inputs == outputs:
            layers.append(nn.MaxPool2d(2))
    return initialise(nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 4 * 4, 10)))


def mlp(width: int = 64, depth: int = 12) -> nn.Module:
    """Return linear layers with ReLU between them: 24 parameter tensors."""
    layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())]
    return initialise(nn.Sequential(*layers[:-1]))


def initialise(model: nn.Module) -> nn.Module:
    """Initialise a model so that it trains well, since faults would change the cost."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
    return model


def characters() -> Batch:
    text = torch.randint(65, (16, 129))
    return text[:, :-1].contiguous(), text[:, 1:].flatten()


def images() -> Batch:
    labels = torch.randint(10, (64,))
    brightness = labels / 5 - 0.9  # gives the model something to learn
    return torch.randn(64, 3, 32, 32) + brightness.view(-1, 1, 1, 1), labels


def vectors() -> Batch:
    return torch.randn(32, 64), torch.randn(32, 64)


@dataclass(frozen=True)
class Workload:
    """A model, its data, and the steps of a block and of a warm-up."""

    build: Callable[[], nn.Module]
    batch: Callable[[], Batch]
    loss: Callable[[Tensor, Tensor], Tensor]
    steps: int  # a block: about half a second
    warmup: int


WORKLOADS = {
    "gpt": Workload(GPT, characters, F.cross_entropy, steps=3, warmup=60),
    "cnn": Workload(cnn, images, F.cross_entropy, steps=3, warmup=60),
    "mlp": Workload(mlp, vectors, F.mse_loss, steps=250, warmup=600),
}


@dataclass(frozen=True)
class Plan:
    """How many rounds and steps to measure."""

    rounds: int = 9
    stretch: int = 8  # factor for the length of blocks of `default`
    imports: int = 7
    haste: int = 1  # divisor for the length of warm-ups


QUICK = Plan(rounds=3, stretch=3, imports=3, haste=4)


class Loop:
    """A training loop with its own model, optimizer and data, always from the same seed."""

    BATCHES = 32  # made in advance and reused

    def __init__(self, workload: Workload) -> None:
        torch.manual_seed(SEED)
        self.model = workload.build()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self._batches = [workload.batch() for _ in range(self.BATCHES)]
        self._loss = workload.loss
        self._done = 0

    def run(self, steps: int, after_step: Callable[[Tensor], object]) -> None:
        """Train for `steps` steps and call `after_step` with each loss."""
        for _ in range(steps):
            inputs, targets = self._batches[self._done % self.BATCHES]
            self.optimizer.zero_grad()
            loss = self._loss(self.model(inputs), targets)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            after_step(loss)
            self._done += 1
