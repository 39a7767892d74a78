"""Data that cannot be trained on gets one clear sentence."""

from collections.abc import Iterator
from math import inf, nan
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from sickbay.repairs.data import Data
from tests.repairs.datasets import refused

X, Y = torch.rand(100, 5, generator=torch.Generator().manual_seed(0)), torch.arange(100) % 4
KINDS = "a pair (x, y), a torch Dataset of such pairs or a DataLoader"


class Empty(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


BAD_DATA: list[tuple[Any, str]] = [
    ((X, Y[:90]), "data must have as many labels as samples, got 100 samples and 90 labels."),
    (
        (X.numpy(), Y[:90].tolist()),
        "data must have as many labels as samples, got 100 samples and 90 labels.",
    ),
    (((X, X[:7]), Y), "data must have inputs of the same length, got 100 and 7 samples."),
    ((X[:0], Y[:0]), "data must have at least one sample, got none."),
    (([], []), "data must have at least one sample, got none."),
    (TensorDataset(X[:0], Y[:0]), "data must have at least one sample, got none."),
    (DataLoader(Empty()), "data must have at least one sample, got none."),
    (X, f"data must be {KINDS}, got Tensor."),
    (X.numpy(), f"data must be {KINDS}, got ndarray."),
    (None, f"data must be {KINDS}, got NoneType."),
    ({"x": X, "y": Y}, f"data must be {KINDS}, got dict."),
    ("iris", f"data must be {KINDS}, got str."),
    (Empty(), f"data must be {KINDS}, got Empty."),
    ((X,), f"data must be {KINDS}, got a tuple of 1."),
    ((X, X, Y), f"data must be {KINDS}, got a tuple of 3."),
    ([], f"data must be {KINDS}, got a list of 0."),
    ((X, None), f"data must have labels, got None; possible: {KINDS}."),
    ((None, Y), f"data must have samples, got None; possible: {KINDS}."),
    ((X, torch.tensor(1)), "data must have a row for every sample, got a single number."),
    ((1.0, 2.0), "data must have a row for every sample, got a single number."),
    (TensorDataset(X), "data must give pairs (x, y), got a tuple of 1."),
    ([{"x": 1}, {"x": 2}, {"x": 3}], f"data must be {KINDS}, got a list of 3."),
    (DataLoader(TensorDataset(X), shuffle=True), "data must give pairs (x, y), got a tuple of 1."),
    (DataLoader([{"x": 1}, {"x": 2}]), "data must give pairs (x, y), got a dict."),  # type: ignore[arg-type]
    (
        (X * nan, Y),
        "data must have finite values, got nothing but NaN and Inf in 100 samples.",
    ),
    (
        (X, Y * nan),
        "data must have finite labels, got nothing but NaN and Inf in 100 samples.",
    ),
    (
        DataLoader(TensorDataset(X * inf, Y), batch_size=40, worker_init_fn=print),
        "data must have finite values, got nothing but NaN and Inf in 40 samples.",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), BAD_DATA, ids=lambda each: str(each)[:30])
def test_data(given: Any, sentence: str) -> None:
    assert refused(lambda: Data.of(given, batch_size=8)) == sentence


@pytest.mark.parametrize(
    ("given", "start"),
    [
        (
            (X, ["cat"] * 100),
            "data must be numbers in rows of one length, got a list: can't convert np.ndarray of",
        ),
        (
            ([[1.0, 2.0], [1.0]], [0, 1]),
            "data must be numbers in rows of one length, got a list: setting an array element",
        ),
        (
            ({"x": 1}, [0, 1]),
            "data must be numbers in rows of one length, got a dict: can't convert np.ndarray of",
        ),
    ],
)
def test_data_that_is_no_numbers(given: Any, start: str) -> None:
    assert refused(lambda: Data.of(given, batch_size=8)).startswith(start)


def test_bad_validation_is_called_so() -> None:
    sentence = refused(lambda: Data.of((X, Y), (X, Y[:3]), batch_size=8))
    assert sentence == (
        "validation must have as many labels as samples, got 100 samples and 3 labels."
    )
