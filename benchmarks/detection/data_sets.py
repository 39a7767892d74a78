"""The data sets: made-up ones, scikit-learn's digits, and real ones from a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator, default_rng
from torch import Tensor

TEST = 500  # samples held out
WORDS = 2000  # size of the vocabulary of texts


@dataclass(frozen=True)
class Data:
    """Samples to train on and samples held out.

    Attributes:
        task: `classes`, `labels` (several at once), `values` (regression) or `next` (next token).
        form: `flat`, `image`, `tokens` or `series`.
        size: The number of classes, labels or values to predict.
    """

    task: str
    form: str
    size: int
    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor
    vocabulary: int = 0


def load(name: str, half: int, folder: Path | None = None, test: int = TEST) -> Data:
    """Return a data set with `test` samples held out. The two halves get different samples."""
    return _load(name, half, folder if name in REAL else None, test)


@cache
def _load(name: str, half: int, folder: Path | None, test: int) -> Data:
    rng = default_rng(1000 + half)
    if name not in REAL:
        return MADE[name](rng, test)
    if folder is None:
        raise ValueError(f"{name} needs a data folder.")
    return REAL[name](folder, rng, test)


def split(task: str, form: str, size: int, x: Any, y: Any, test: int) -> Data:
    """Hold out the last `test` samples."""
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    x = x if form == "tokens" else x.float()
    y = y.float() if task in ("values", "labels") else y.long()
    return Data(task, form, size, x[:-test], y[:-test], x[-test:], y[-test:])


def circles(rng: Generator, test: int) -> Data:
    count = 800 + test
    y = rng.integers(0, 2, count)
    angle = rng.uniform(0, 2 * np.pi, count)
    radius = (np.where(y == 1, 0.5, 1.0) + rng.normal(0, 0.08, count)) * 1.4
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return split("classes", "flat", 2, x, y, test)


def blobs(rng: Generator, test: int, classes: int = 5, features: int = 6) -> Data:
    count = 1000 + test
    centres = rng.normal(0, 1, (classes, features))
    y = rng.integers(0, classes, count)
    x = centres[y] + rng.normal(0, 0.45, (count, features))
    return split("classes", "flat", classes, x, y, test)


def rare(rng: Generator, test: int, features: int = 6) -> Data:
    """Return two blobs, one twenty times as large as the other."""
    count = 2000 + test
    y = (rng.random(count) < 1 / 21).astype(np.int64)
    x = rng.normal(0, 0.5, (count, features)) + np.where(y[:, None] == 1, 1.0, -0.3)
    return split("classes", "flat", 2, x, y, test)


def labels(rng: Generator, test: int, features: int = 8, size: int = 4) -> Data:
    """Return several labels per sample, each a half-space."""
    x = rng.normal(0, 1, (1000 + test, features))
    return split("labels", "flat", size, x, x @ rng.normal(0, 1, (features, size)) > 0.3, test)


def friedman(rng: Generator, test: int) -> Data:
    u = rng.uniform(0, 1, (1000 + test, 10))
    y = (
        10 * np.sin(np.pi * u[:, 0] * u[:, 1])
        + 20 * (u[:, 2] - 0.5) ** 2
        + 10 * u[:, 3]
        + 5 * u[:, 4]
    )
    y = (y - y.mean()) / y.std()
    return split("values", "flat", 1, (u - 0.5) * 12**0.5, y[:, None], test)


def sine(rng: Generator, test: int) -> Data:
    x = rng.uniform(-1.7, 1.7, (1000 + test, 1))
    return split("values", "flat", 1, x, np.sin(3 * x) + rng.normal(0, 0.05, x.shape), test)


def plane(rng: Generator, test: int) -> Data:
    """Return a linear function whose inputs lie in a narrow valley."""
    x = rng.normal(0, 1, (1000 + test, 8)) * np.logspace(0, -1.5, 8)
    y = (x / np.logspace(0, -1.5, 8)) @ rng.normal(0, 1, (8, 1))
    return split("values", "flat", 1, x, y / y.std(), test)


def waves(rng: Generator, test: int, length: int = 40) -> Data:
    """Return series of noisy sines with three frequencies."""
    count = 800 + test
    y = rng.integers(0, 3, count)
    time = np.arange(length)[None, :]
    phase = rng.uniform(0, 2 * np.pi, (count, 1))
    x = np.sin(time * np.array([0.2, 0.4, 0.8])[y][:, None] + phase) * 1.4
    x += rng.normal(0, 0.2, x.shape)
    return split("classes", "series", 3, x[:, :, None], y, test)


def digits(rng: Generator, _test: int) -> Data:
    datasets: Any = import_module("sklearn.datasets")  # an optional dependency
    x, y = datasets.load_digits(return_X_y=True)
    order = rng.permutation(len(x))
    x = _even(x[order].reshape(-1, 1, 8, 8))
    return split("classes", "image", 10, x, y[order], TEST)  # there are only 1797


def _even(x: Any) -> Any:
    """Standardise samples to mean 0 and variance 1."""
    return (x - x.mean()) / x.std()


@cache
def _arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as members:
        return {name: members[name] for name in members.files}


def _images(path: Path, rng: Generator, test: int, channels: int) -> Data:
    arrays = _arrays(path)
    train = rng.choice(len(arrays["x_train"]), 3000, replace=False)
    held = rng.choice(len(arrays["x_test"]), test, replace=False)
    x = np.concatenate([arrays["x_train"][train], arrays["x_test"][held]]).astype(np.float32)
    x = x.reshape(len(x), *x.shape[1:3], channels).transpose(0, 3, 1, 2)
    y = np.concatenate([arrays["y_train"][train], arrays["y_test"][held]])
    return split("classes", "image", 10, _even(x), y, test)


def mnist(folder: Path, rng: Generator, test: int) -> Data:
    return _images(folder / "mnist.npz", rng, test, 1)


def cifar10(folder: Path, rng: Generator, test: int) -> Data:
    return _images(folder / "cifar10_8k.npz", rng, test, 3)


def _texts(path: Path, rng: Generator, test: int) -> tuple[list[Any], Any]:
    """Return 3000 texts and some held-out ones as lists of word numbers, with labels."""
    arrays, texts, labels = _arrays(path), [], []
    for part, count in (("train", 3000), ("test", test)):
        ends = arrays[f"x_{part}_offsets"]
        for index in rng.choice(len(ends) - 1, count, replace=False):
            words = arrays[f"x_{part}"][ends[index] : ends[index + 1]]
            texts.append(np.where(words < WORDS, words, 2))
            labels.append(arrays[f"y_{part}"][index])
    return texts, np.array(labels)


def _tokens(name: str, size: int, length: int = 60) -> Callable[[Path, Generator, int], Data]:
    """Return a loader of texts as word numbers, cut or padded with 0 to the same length."""

    def make(folder: Path, rng: Generator, test: int) -> Data:
        texts, y = _texts(folder / name, rng, test)
        x = np.zeros((len(texts), length), np.int64)
        for row, words in zip(x, texts, strict=True):
            row[: min(len(words), length)] = words[:length]
        made = split("classes", "tokens", size, x, y, test)
        return Data(**{**vars(made), "vocabulary": WORDS})

    return make


def _bags(name: str, size: int) -> Callable[[Path, Generator, int], Data]:
    """Return a loader of texts as bags of words."""

    def make(folder: Path, rng: Generator, test: int) -> Data:
        texts, y = _texts(folder / name, rng, test)
        x = np.zeros((len(texts), WORDS // 2), np.float32)
        for row, words in zip(x, texts, strict=True):
            row[words[words < WORDS // 2]] = 1
        return split("classes", "flat", size, x, y, test)

    return make


def shakespeare(folder: Path, rng: Generator, test: int, length: int = 24) -> Data:
    test = test * 3 // 5
    text = (folder / "tinyshakespeare.txt").read_text()
    code = {letter: number for number, letter in enumerate(sorted(set(text)))}
    numbers = np.array([code[letter] for letter in text])
    starts = rng.choice(len(numbers) - length - 1, 3700 + test, replace=False)
    pieces = numbers[starts[:, None] + np.arange(length + 1)]
    made = split("next", "tokens", len(code), pieces[:, :-1], pieces[:, 1:], test)
    return Data(**{**vars(made), "vocabulary": len(code)})


def exchange(folder: Path, rng: Generator, test: int, length: int = 16) -> Data:
    """Return exchange rates of 16 days as series, and those of the next day."""
    rates = np.loadtxt(folder / "exchange_rate.csv", delimiter=",", skiprows=1)
    rates = (rates - rates.mean(0)) / rates.std(0)
    starts = rng.permutation(len(rates) - length)[: 3000 + test]
    x = rates[starts[:, None] + np.arange(length)]
    return split("values", "series", 8, x, rates[starts + length], test)


MADE: dict[str, Callable[[Generator, int], Data]] = {
    "circles": circles,
    "blobs": blobs,
    "rare": rare,
    "labels": labels,
    "friedman": friedman,
    "sine": sine,
    "plane": plane,
    "waves": waves,
    "digits": digits,
}
REAL: dict[str, Callable[[Path, Generator, int], Data]] = {
    "mnist": mnist,
    "cifar10": cifar10,
    "imdb": _tokens("imdb_7500.npz", 2),
    "imdb_bag": _bags("imdb_7500.npz", 2),
    "reuters": _tokens("reuters.npz", 46),
    "reuters_bag": _bags("reuters.npz", 46),
    "shakespeare": shakespeare,
    "exchange": exchange,
}
