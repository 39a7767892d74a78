"""Batches that the architectures of several libraries share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs


def classifies(
    model: nn.Module, side: int = 32, *, channels: int = 3, classes: int = 10, samples: int = 8
) -> Inputs:
    """Return an image classifier with images and labels."""
    batch = data.images(samples, channels, side, classes)
    return Inputs(model, batch, nn.CrossEntropyLoss())


def segments(
    model: nn.Module, side: int = 64, *, channels: int = 3, classes: int = 4, samples: int = 4
) -> Inputs:
    """Return a model that classifies each pixel, with images and maps of labels."""
    labels = blobs(samples, side, classes)
    means = torch.randn(classes, channels)
    images = means[labels].movedim(-1, 1) + 0.5 * torch.randn(samples, channels, side, side)
    return Inputs(model, (images, labels), nn.CrossEntropyLoss())


def blobs(samples: int, side: int, classes: int) -> Tensor:
    """Return maps of labels that are connected areas."""
    coarse = torch.randint(classes, (samples, 1, 4, 4)).float()
    return F.interpolate(coarse, side)[:, 0].long()


def volumes(samples: int, side: int, classes: int) -> tuple[Tensor, Tensor]:
    """Return volumes of one channel, and their labels voxel by voxel, (samples, 1, ...)."""
    coarse = torch.randint(classes, (samples, 1, 4, 4, 4)).float()
    labels = F.interpolate(coarse, side)
    return labels + 0.5 * torch.randn_like(labels), labels.long()


def tokens(samples: int = 8, length: int = 16, vocabulary: int = 100) -> Tensor:
    """Return sequences in which each token follows from the one before, most of the time."""
    steps = torch.randint(1, 4, (samples, length)).cumsum(1)
    return 5 + (torch.randint(vocabulary, (samples, 1)) + steps) % (vocabulary - 5)


def padding_mask(samples: int = 8, length: int = 16) -> Tensor:
    """Return a mask with ones for tokens, and zeros for the padding at the end."""
    lengths = torch.randint(length // 2, length + 1, (samples,))
    lengths[0] = length
    return (torch.arange(length) < lengths[:, None]).long()


def flat_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the cross entropy of tokens."""
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


def first_output(loss: Any) -> Any:
    """Return a loss of the first of several outputs."""
    return lambda outputs, targets: loss(outputs[0], targets)
