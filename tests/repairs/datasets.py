"""Datasets and loaders that the tests make data of."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from sickbay.errors import UsageError

COUNT = 100
X, Y = torch.arange(COUNT * 3.0).reshape(COUNT, 3), torch.arange(COUNT) % 4


class Items(Dataset[Any]):
    """Samples by number, with noise from all three random states where asked for."""

    def __init__(self, count: int = COUNT, noise: bool = False) -> None:
        self.count, self.noise = count, noise

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> tuple[Tensor, int]:
        noise = torch.rand(3) + np.random.rand() + random.random() if self.noise else torch.zeros(3)
        return X[row] + noise, int(Y[row])


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(zip(X, Y, strict=True))


def halves(samples: list[Any]) -> Any:
    return torch.stack([x for x, _ in samples]), torch.tensor([int(y) for _, y in samples])


def loader(dataset: Any = None, **options: Any) -> DataLoader[Any]:
    options = {"batch_size": 10, "shuffle": True, **options}
    return DataLoader(dataset or TensorDataset(X, Y), **options)


def refused(function: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as error:
        function()
    assert "\n" not in str(error.value)
    return str(error.value)
