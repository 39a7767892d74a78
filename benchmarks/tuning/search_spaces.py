"""The search spaces of the tasks, as in BTTackler (Pei et al., 2024) but for one.

`ex96_trans` is another space for forecasting, that of the recorded pool. It has 2 continuous, 3
discrete and 3 categorical parameters; that of the paper, `ex96_paper`, has 1, 4 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, integer or real, uniform or log-uniform."""

    low: float
    high: float
    whole: bool = False
    logarithmic: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        if self.whole:
            return int(rng.integers(int(self.low), int(self.high) + 1))
        if self.logarithmic:
            return exp(rng.uniform(log(self.low), log(self.high)))
        return float(rng.uniform(self.low, self.high))

    def place(self, value: float) -> list[float]:
        """Return the position of a value, from 0 to 1."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = log(low), log(high), log(value)
        return [(value - low) / (high - low)]


@dataclass(frozen=True)
class OneOf:
    """A choice among a few values without an order."""

    values: tuple[Any, ...]

    def draw(self, rng: np.random.Generator) -> Any:
        return self.values[int(rng.integers(len(self.values)))]

    def place(self, value: Any) -> list[float]:
        """Return one coordinate per choice; two choices are as far apart as the ends of a range."""
        return [0.5**0.5 * (each == value) for each in self.values]


Space = Mapping[str, Range | OneOf]
OPTIMIZERS = OneOf(("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta"))
LEARNING_RATE = Range(1e-4, 0.4, logarithmic=True)
WEIGHT_DECAY = Range(1e-5, 1e-3, logarithmic=True)
DROPOUT = Range(0, 0.9)
BATCH = OneOf((45, 90, 180, 360, 720))

SPACES: Mapping[str, Space] = {
    "cifar10_cnn": {
        "conv1": Range(8, 32, whole=True),
        "conv2": Range(32, 64, whole=True),
        "conv3": Range(64, 128, whole=True),
        "conv4": Range(64, 128, whole=True),
        "kernel": OneOf((2, 3)),
        "width": Range(10, 1000, whole=True),
        "activation": OneOf(("ReLU", "Tanh", "Sigmoid", "ELU", "LeakyReLU")),
        "optimizer": OPTIMIZERS,
        "learning_rate": LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
        "batch_size": BATCH,
        "batch_norm": OneOf((False, True)),
        "dropout": DROPOUT,
    },
    "cifar10_lstm": {
        "hidden": Range(16, 256, whole=True),
        "layers": OneOf((1, 2, 3)),
        "batch_norm": OneOf((False, True)),
        "optimizer": OPTIMIZERS,
        "learning_rate": LEARNING_RATE,
        "weight_decay": WEIGHT_DECAY,
        "batch_size": BATCH,
        "dropout": DROPOUT,
    },
    "ex96_trans": {
        "encoder_layers": Range(1, 4, whole=True),
        "decoder_layers": Range(1, 4, whole=True),
        "model_width": OneOf((256, 512, 1024)),
        "heads": OneOf((4, 8, 16)),
        "inner_width": Range(1024, 2048, whole=True),
        "learning_rate": Range(1e-5, 1e-3, logarithmic=True),
        "batch_size": OneOf((16, 32, 64)),
        "dropout": Range(0.05, 0.2),
    },
    "ex96_paper": {
        "encoder_layers": Range(1, 4, whole=True),
        "decoder_layers": Range(1, 4, whole=True),
        "model_width": OneOf((256, 512, 1024)),
        "heads": Range(5, 15, whole=True),
        "inner_width": Range(1024, 2048, whole=True),
        "learning_rate": Range(1e-5, 1e-3, logarithmic=True),
        "batch_size": OneOf((16, 32, 64)),
        "dropout": OneOf((0.05, 0.1, 0.15, 0.2)),
    },
}


def draw(space: Space, seed: int) -> dict[str, Any]:
    """Return the random configuration of a seed."""
    rng = np.random.default_rng(seed)
    return {name: dimension.draw(rng) for name, dimension in space.items()}


def place(space: Space, config: Config) -> NDArray[np.float64]:
    """Return a configuration as a point, to measure distances."""
    return np.concatenate([each.place(config[name]) for name, each in space.items()])
