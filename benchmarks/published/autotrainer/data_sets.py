"""AutoTrainer's six data sets. The real ones are small parts of the originals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.detection import data_sets
from benchmarks.detection.data_sets import Data, split

DATA_SETS = ("blob", "circle", "cifar10", "mnist", "reuters", "imdb")
MADE = ("blob", "circle")
TEXTS = ("imdb", "reuters")
SAMPLES = {
    "circle": 600,
    "blob": 600,
    "mnist": 1500,
    "cifar10": 2000,
    "imdb": 2400,
    "reuters": 2400,
}
HELD_OUT, VALIDATION = 800, 200  # training sees the validation samples, the scores use the others
WORDS = 40  # of each text
# The accuracy that a user expects of these models on so few samples.
EXPECTED = {
    "circle": 0.7, "blob": 0.7, "mnist": 0.7, "cifar10": 0.4, "imdb": 0.7, "reuters": 0.5,
}  # fmt: skip


def circle(rng: Generator) -> Data:
    """Return two circles, as scikit-learn's make_circles does."""
    count = SAMPLES["circle"] + HELD_OUT
    y = rng.integers(0, 2, count)
    angle = rng.uniform(0, 2 * np.pi, count)
    x = np.stack([np.cos(angle), np.sin(angle)], 1) * np.where(y == 1, 0.4, 1.0)[:, None]
    return split("classes", "flat", 2, x + rng.normal(0, 0.1, x.shape), y, HELD_OUT)


def blob(rng: Generator) -> Data:
    """Return three clouds of points that overlap a little, as scikit-learn's make_blobs does."""
    count = SAMPLES["blob"] + HELD_OUT
    y = rng.integers(0, 3, count)
    angle = 2 * np.pi * y / 3
    x = np.stack([np.cos(angle), np.sin(angle)], 1) * 1.5
    return split("classes", "flat", 3, x + rng.normal(0, 0.6, x.shape), y, HELD_OUT)


GENERATORS: dict[str, Callable[[Generator], Data]] = {"circle": circle, "blob": blob}


@cache
def load(name: str, folder: Path | None) -> Data:
    """Return a data set. The real ones need a folder."""
    if name in MADE:
        return GENERATORS[name](default_rng(7))
    data = data_sets.load(name, 0, folder, HELD_OUT)
    count = SAMPLES[name]
    data = replace(data, x=data.x[:count], y=data.y[:count])
    if name in TEXTS:
        data = replace(data, x=data.x[:, :WORDS], x_test=data.x_test[:, :WORDS])
    return data
