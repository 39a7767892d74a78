"""Made-up data that a model can learn."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

Pair = tuple[Tensor, Tensor]
VOCABULARY, LENGTH = 20, 12


def table(samples: int = 32, width: int = 8, classes: int = 3) -> Pair:
    """Return rows of numbers around one centre per class."""
    labels = torch.arange(samples) % classes
    return torch.randn(classes, width)[labels] * 1.5 + torch.randn(samples, width), labels


def curve(samples: int = 32, width: int = 8, outputs: int = 1) -> Pair:
    """Return rows of numbers and the values of a curve."""
    rows = torch.randn(samples, width)
    return rows, (rows @ torch.randn(width, outputs) / width**0.5).sin() + 0.1 * rows[:, :outputs]


def answers(samples: int = 32, width: int = 8, labels: int = 1) -> Pair:
    """Return rows of numbers and yes-or-no labels as floats."""
    rows = torch.randn(samples, width)
    return rows, (rows @ torch.randn(width, labels) > 0).float()


def images(samples: int = 32, channels: int = 1, side: int = 12, classes: int = 4) -> Pair:
    """Return standardised images with one noisy pattern per class."""
    labels = torch.arange(samples) % classes
    patterns = F.interpolate(torch.randn(classes, channels, 4, 4), side)
    return patterns[labels] + 0.5 * torch.randn(samples, channels, side, side), labels


def pictures(samples: int = 16, channels: int = 1, side: int = 12) -> Tensor:
    """Return images with grey values from 0 to 1."""
    return images(samples, channels, side)[0].sigmoid()


def series(samples: int = 32, length: int = LENGTH, width: int = 4, classes: int = 3) -> Pair:
    """Return waves with a different frequency for each class."""
    labels = torch.arange(samples) % classes
    times = torch.arange(length)[None, :, None] * (1.0 + labels)[:, None, None] / 2
    waves = (times + torch.rand(samples, 1, width) * 6).sin()
    return waves + 0.2 * torch.randn(samples, length, width), labels


def text(samples: int = 32, length: int = LENGTH, classes: int = 3) -> Pair:
    """Return tokens, some of them typical of a class."""
    labels = torch.arange(samples) % classes
    tokens = torch.randint(1, VOCABULARY, (samples, length))
    typical = 1 + labels[:, None] * 5 + torch.randint(5, (samples, length))
    return torch.where(torch.rand(samples, length) < 0.5, typical, tokens), labels


def padded(samples: int = 32, length: int = LENGTH) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, their mask and labels. Tokens outside the mask are padding (0)."""
    tokens, labels = text(samples, length)
    lengths = torch.randint(length // 2, length + 1, (samples,))
    lengths[0] = length
    mask = torch.arange(length) < lengths[:, None]
    return tokens * mask, mask, labels


def language(samples: int = 16, length: int = LENGTH, vocabulary: int = VOCABULARY) -> Pair:
    """Return tokens and the tokens that follow them."""
    tokens = torch.randint(vocabulary, (samples, length + 1))
    return tokens[:, :-1], tokens[:, 1:]


def next_token(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the loss of a language model."""
    return F.cross_entropy(outputs.flatten(0, -2), targets.flatten())
