"""Ignored padding masks and missing positions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import WIDTH, Attention, Encoder, Patches
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList()
MASKS, PLACES = "respects_masks", "uses_positions"
CE = nn.CrossEntropyLoss()


def padded(model: nn.Module) -> Inputs:
    tokens, mask, labels = data.padded()
    tokens, mask = F.pad(tokens, (0, 2)), F.pad(mask, (0, 2))
    return Inputs(model, ({"tokens": tokens, "attention_mask": mask}, labels), CE)


class Highest(Encoder):
    def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return x.amax(1)


class Times(Attention):
    """Sets masked scores to 0 instead of -inf."""

    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores if mask is None else scores * mask[:, None, None, :]


class TooLittle(Attention):
    def hidden(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores if mask is None else scores - (~mask[:, None, None, :]).float()


class LastPlace(Encoder):
    def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        del mask
        return x[:, -1]


class Pools(nn.Module):
    """Weights the states of a recurrent layer, including those of padding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(data.VOCABULARY, WIDTH)
        self.rnn, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, 3)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, tokens: Tensor, attention_mask: Tensor) -> Any:
        states = self.rnn(self.tokens(tokens) * attention_mask[..., None])[0]
        return self.head((states * self.score(self.tokens(tokens)).softmax(1)).sum(1))


cases.add(MASKS, "encoder, padding is in the maximum", lambda: padded(Highest()))
cases.add(MASKS, "encoder, scores are multiplied with the mask", lambda: padded(Encoder(Times)))
cases.add(MASKS, "encoder, the mask takes off 1 only", lambda: padded(Encoder(TooLittle)))
cases.add(MASKS, "encoder, the last place, padding or not", lambda: padded(LastPlace()))
cases.add(MASKS, "rnn, padding is weighed", lambda: padded(Pools()))


class BySample(Encoder):
    """Sine positions along the batch dimension."""

    def __init__(self) -> None:
        super().__init__()
        del self.places
        speed = 1e4 ** -(torch.arange(0, WIDTH, 2) / WIDTH)
        angle = torch.arange(64)[:, None] * speed
        self.register_buffer("waves", torch.cat([angle.sin(), angle.cos()], 1)[:, None])

    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens) + self.get_buffer("waves")[: len(tokens)]
        return embedded


class AfterPooling(Encoder):
    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens)
        return embedded

    def pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        places: Tensor = self.places(torch.arange(x.shape[1]))
        return super().pooled(x, mask) + places.mean(0)


class ByHead(Attention):
    """Rotates queries and keys by the index of their head."""

    def turned(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        speed = 1e4 ** -(torch.arange(half) / half)
        angle = torch.arange(x.shape[1])[:, None, None] * speed
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = self.turned(q) @ self.turned(k).transpose(-2, -1)
        weights = self.weights(scores / (width // self.heads) ** 0.5, mask)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Rotary(Encoder):
    def __init__(self) -> None:
        super().__init__(ByHead)
        del self.places

    def embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.tokens(tokens)
        return embedded


class Unplaced(Patches):
    """A ViT without positions."""

    def __init__(self) -> None:
        super().__init__()
        del self.places

    def forward(self, x: Tensor) -> Any:
        patches = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), patches], 1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def text(model: nn.Module) -> Inputs:
    return Inputs(model, data.text(), CE)


cases.add(PLACES, "encoder, waves by sample", lambda: text(BySample()))
cases.add(PLACES, "encoder, places are added after pooling", lambda: text(AfterPooling()))
cases.add(PLACES, "encoder, turned by head and not by place", lambda: text(Rotary()))
cases.add(PLACES, "patches, no places", lambda: Inputs(Unplaced(), data.images(), CE))
