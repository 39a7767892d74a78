"""Data for the programs: life-like made-up sets, and those that scikit-learn brings along."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Samples to train on and samples held out."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor

    def standardised(self) -> Split:
        """Return inputs with mean 0 and deviation 1, by the statistics of the training samples."""
        mean, spread = self.x.mean(0), self.x.std(0)
        spread = torch.where(spread > 1e-6, spread, 1.0)  # some pixels never change
        return replace(self, x=(self.x - mean) / spread, x_test=(self.x_test - mean) / spread)

    def flat(self) -> Split:
        """Return every input as one row of numbers."""
        return replace(self, x=self.x.flatten(1), x_test=self.x_test.flatten(1))


def split(x: Any, y: Any, test: int) -> Split:
    """Hold out the last `test` samples. Whole numbers stay whole."""
    inputs, targets = (torch.as_tensor(np.asarray(each)) for each in (x, y))
    inputs = inputs.float() if inputs.is_floating_point() else inputs
    targets = targets.float() if targets.is_floating_point() else targets.long()
    return Split(inputs[:-test], targets[:-test], inputs[-test:], targets[-test:])


def bundled(name: str, seed: int, test: float = 0.3) -> Split:
    """Return `iris`, `wine`, `breast_cancer`, `diabetes` or `digits`, raw, in a random order."""
    datasets: Any = import_module("sklearn.datasets")  # an optional dependency
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = default_rng(seed).permutation(len(x))
    return split(x[order].astype(np.float32), y[order], int(test * len(x)))


def digits(seed: int) -> Split:
    """Return scikit-learn's digits as images of 8 x 8 pixels from 0 to 16."""
    made = bundled("digits", seed)
    shape = (-1, 1, 8, 8)
    return replace(made, x=made.x.reshape(shape), x_test=made.x_test.reshape(shape))


def customers(seed: int, count: int = 4500) -> Split:
    """Return customers who leave or stay: mixed scales, noise, a third leaves."""
    rng = default_rng(seed)
    age, months = rng.normal(44, 13, count), rng.exponential(30, count)
    income, calls = rng.lognormal(10.4, 0.5, count), rng.poisson(1.5, count)
    monthly, premium = rng.uniform(15, 120, count), rng.random(count) < 0.3
    pull = 0.9 * calls + 0.03 * (monthly - 60) - 0.05 * months - 1.2 * premium * (age > 40)
    pull += 1.5 * ((income < 25_000) & (monthly > 70)) + rng.normal(0, 0.5, count)
    columns = [age, months, income, calls, monthly, premium]
    x = np.stack([np.asarray(each, np.float32) for each in columns], 1)
    return split(x, (pull > np.quantile(pull, 0.65)).astype(int), count // 3)


def houses(seed: int, count: int = 2400) -> Split:
    """Return houses and their prices, from about 1e5 to 1.5e6."""
    rng = default_rng(seed)
    area, rooms = rng.gamma(8, 16, count), rng.integers(1, 8, count)
    built, distance = rng.integers(1900, 2022, count), rng.exponential(8, count)
    good = rng.random(count) < 0.4
    worth = 2600 * area * np.exp(-distance / 15) * (1 + 0.6 * good) + 12_000 * rooms
    by_age = 0.7 + 0.6 * np.abs((built - 1960) / 60)
    price = 60_000 + worth * by_age * rng.lognormal(0, 0.08, count)
    x = np.stack([area, rooms, built, distance, good], 1).astype(np.float32)
    return split(x, price.astype(np.float32), count // 3)


def rings(seed: int, classes: int = 3, count: int = 3000) -> Split:
    """Return sensor readings whose classes are rings, so that a linear model cannot learn them."""
    rng = default_rng(seed)
    y = rng.integers(0, classes, count)
    angle, radius = rng.uniform(0, 2 * np.pi, count), 0.5 + y + rng.normal(0, 0.15, count)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    x = np.concatenate([x, rng.normal(0, 1, (count, 3))], 1) * [1, 1, 0.3, 0.3, 0.3]
    return split(x.astype(np.float32), y, count // 3)


def reviews(seed: int, count: int = 3000, length: int = 24, words: int = 300) -> Split:
    """Return texts as word numbers. Some words are kind, some are not, most say nothing."""
    rng = default_rng(seed)
    y = rng.integers(0, 2, count)
    x = (rng.zipf(1.3, (count, length)) + 60) % (words - 60) + 60
    for row, label in zip(x, y, strict=True):
        telling = rng.integers(2, 6)
        told = np.where(rng.random(telling) < 0.85, label, 1 - label)
        places = rng.choice(length, telling, replace=False)
        row[places] = 1 + told * 29 + rng.integers(0, 29, telling)
    return split(x, y, count // 3)


def sales(seed: int, count: int = 900, length: int = 20) -> Split:
    """Return daily sales of a shop as windows, and those of the day after, in pieces."""
    rng = default_rng(seed)
    day = np.arange(count + length)
    level = 5200 + 900 * np.sin(2 * np.pi * day / 7) + 1500 * np.sin(2 * np.pi * day / 90)
    values = level + rng.normal(0, 160, len(day))
    x = np.stack([values[start : start + length] for start in range(count)])
    order = rng.permutation(count)
    return split(x[order, :, None], values[length:][order], count // 3)


def waves(seed: int, count: int = 900, length: int = 30) -> Split:
    """Return noisy waves of three speeds, as series of one value."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    phase = rng.uniform(0, 2 * np.pi, (count, 1))
    x = np.sin(np.arange(length) * np.array([0.25, 0.5, 0.9])[y][:, None] + phase)
    x = x + rng.normal(0, 0.3, x.shape)
    return split(x[:, :, None].astype(np.float32), y, count // 3)


def tags(seed: int, count: int = 1400, features: int = 20, labels: int = 6) -> Split:
    """Return samples with several labels each, of which about a third apply."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (count, features))
    hidden = np.tanh(x @ rng.normal(0, 0.4, (features, 16)))
    pull = hidden @ rng.normal(0, 1, (16, labels)) + rng.normal(0, 0.3, (count, labels))
    y = (pull > np.quantile(pull, 0.65, axis=0)).astype(np.float32)
    return split(x.astype(np.float32), y, count // 3)
