"""Embeddings of numbers of rtdl_num_embeddings, as in its README."""

from __future__ import annotations

from torch import nn

from benchmarks.checkup import data
from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library

library = Library("rtdl_num_embeddings", "rtdl_num_embeddings")


@library.architecture
def periodic_embeddings() -> Inputs:
    from rtdl_num_embeddings import PeriodicEmbeddings

    model = nn.Sequential(
        PeriodicEmbeddings(8, 8, lite=False), nn.Flatten(), nn.Linear(64, 32), nn.ReLU(),
        nn.Linear(32, 1),
    )  # fmt: skip
    return Inputs(model, data.curve(), nn.MSELoss())
