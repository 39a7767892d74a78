"""Small sound models of the usual kinds. A fault overrides one part of one of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup.data import VOCABULARY

WIDTH, HEADS = 32, 4


def mlp(inputs: int = 8, outputs: int = 3, width: int = 32) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, outputs),
    )  # fmt: skip


def cnn(channels: int = 1, outputs: int = 4, side: int = 12) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * (side // 4) ** 2, outputs),
    )  # fmt: skip


class RNN(nn.Module):
    """A recurrent layer over a series, and a classifier on its last output."""

    def __init__(self, inputs: int = 4, outputs: int = 3, width: int = WIDTH) -> None:
        super().__init__()
        self.rnn = nn.LSTM(inputs, width, batch_first=True)
        self.head = nn.Linear(width, outputs)

    def last(self, states: Tensor) -> Tensor:
        return states[:, -1]

    def forward(self, x: Tensor) -> Any:
        return self.head(self.last(self.rnn(x)[0]))


class Autoencoder(nn.Module):
    """Reconstructs rows through a bottleneck."""

    def __init__(self, width: int = 8, code: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, width))

    def bottleneck(self, code: Tensor) -> Tensor:
        return code

    def forward(self, x: Tensor) -> Any:
        return self.decoder(self.bottleneck(self.encoder(x)))


class Attention(nn.Module):
    """Self-attention with several heads, written without torch's module."""

    def __init__(self, width: int = WIDTH, heads: int = HEADS, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def future(self, length: int) -> Tensor:
        """Return where attention must not look."""
        return torch.ones(length, length, dtype=torch.bool).triu(1)

    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if self.causal:
            scores = scores.masked_fill(self.future(scores.shape[-1]), float("-inf"))
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        return scores

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return self.hidden(scores, mask).softmax(-1)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        weights = self.weights(q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5, mask)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and feed-forward, both behind a layer norm."""

    def __init__(self, attention: nn.Module, width: int = WIDTH) -> None:
        super().__init__()
        self.attention = attention
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        x = x + self.attention(self.norm1(x), mask)
        return x + self.feed(self.norm2(x))


class Transformer(nn.Module):
    """The common part of a language model and a text classifier."""

    def __init__(
        self,
        outputs: int,
        attention: type[Attention] = Attention,
        layers: int = 2,
        causal: bool = False,
        vocabulary: int = VOCABULARY,
    ) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(64, WIDTH)
        self.blocks = nn.ModuleList(Block(attention(causal=causal)) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, outputs)

    def embedded(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        embedded: Tensor = self.tokens(tokens) + self.places(places)
        return embedded

    def through(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            x = block(x, mask)
        normed: Tensor = self.norm(x)
        return normed


class Decoder(Transformer):
    """A small GPT."""

    def __init__(
        self,
        attention: type[Attention] = Attention,
        layers: int = 2,
        vocabulary: int = VOCABULARY,
        **more: Any,
    ) -> None:
        more.setdefault("causal", True)
        super().__init__(vocabulary, attention, layers, vocabulary=vocabulary, **more)

    def forward(self, tokens: Tensor) -> Any:
        return self.head(self.through(self.embedded(tokens)))


class Encoder(Transformer):
    """A small BERT that classifies a text. The mask marks tokens that are not padding."""

    def __init__(self, attention: type[Attention] = Attention, outputs: int = 3) -> None:
        super().__init__(outputs, attention)

    def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            return x.mean(1)
        counted = mask[..., None].to(x.dtype)
        return (x * counted).sum(1) / counted.sum(1)

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Any:
        x = self.through(self.embedded(tokens), attention_mask)
        return self.head(self.pooled(x, attention_mask))


class Patches(nn.Module):
    """A small ViT: image patches, a class token, and positions."""

    def __init__(self, side: int = 12, patch: int = 4, outputs: int = 4) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, WIDTH, patch, stride=patch)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 1 + (side // patch) ** 2, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block(Attention()) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, outputs)

    def forward(self, x: Tensor) -> Any:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), patches], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])
