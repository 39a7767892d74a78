"""Small models whose forward pass is a function."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Made(nn.Module):
    """A model whose forward pass is a function of itself and the inputs."""

    def __init__(self, forward: Callable[..., object], **parts: object) -> None:
        super().__init__()
        self.function = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(name)

    def forward(self, *inputs: Tensor) -> object:
        return self.function(self, *inputs)


def inputs() -> Tensor:
    return torch.randn(16, 8, generator=torch.Generator().manual_seed(0))


def data() -> tuple[Tensor, Tensor]:
    return inputs(), torch.arange(16) % 3


def sentences() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1, 9, (16, 6), generator=generator), torch.arange(16) % 3


def images() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(16, 3, 8, 8, generator=generator), torch.arange(16) % 3


def mlp() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)
    )


def cnn() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
    )


class Block(nn.Module):
    """A transformer's block with separate projections."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        scores = self.query(h) @ self.key(h).transpose(-2, -1) / 4
        x = x + self.out(scores.softmax(-1) @ self.value(h))
        found: Tensor = x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
        return found


class Transformer(nn.Module):
    """Two blocks over tokens, and the mean of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(9, 16, padding_idx=0)
        self.places = nn.Parameter(torch.zeros(1, 6, 16))
        self.blocks = nn.Sequential(Block(), Block())
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.norm(self.blocks(self.tokens(x) + self.places)).mean(1))
        return found


class Recurrent(nn.Module):
    """An LSTM over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.rnn = nn.Embedding(9, 8), nn.LSTM(8, 16, 2, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.rnn(self.tokens(x))[0][:, -1])
        return found
