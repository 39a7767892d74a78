"""Losses of pytorch-metric-learning, around a small network, as in its documentation."""

from __future__ import annotations

from torch import nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("pytorch-metric-learning", "pytorch_metric_learning")


def embedder() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 16),
    )  # fmt: skip


@library.architecture
def normalised_cross_entropy() -> Inputs:
    from pytorch_metric_learning.losses import NTXentLoss

    return Inputs(embedder(), data.images(24, 1, 16, 4), NTXentLoss(temperature=0.5))


@library.architecture
def angular_margin() -> Inputs:
    from pytorch_metric_learning.losses import ArcFaceLoss

    loss = ArcFaceLoss(num_classes=4, embedding_size=16, margin=28.6, scale=16)
    return Inputs(embedder(), data.images(24, 1, 16, 4), loss)
