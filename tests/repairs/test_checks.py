"""Numbers and devices that cannot be used get one clear sentence."""

from math import nan
from typing import Any

import numpy as np
import pytest
import torch

from sickbay.repairs import checks
from sickbay.repairs.data import Data
from tests.repairs.samples import refused

X, Y = torch.rand(100, 5, generator=torch.Generator().manual_seed(0)), torch.arange(100) % 4


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"budget": 0}, "budget must be above 0, got 0."),
        ({"budget": -1.5}, "budget must be above 0, got -1.5."),
        ({"budget": nan}, "budget must be above 0, got nan."),
        ({"budget": "long"}, "budget must be a number or None, got 'long'."),
        ({"epochs": 0}, "epochs must be a whole number from 1 on, got 0."),
        ({"epochs": -3}, "epochs must be a whole number from 1 on, got -3."),
        ({"epochs": 1.5}, "epochs must be a whole number from 1 on, got 1.5."),
        ({"epochs": None}, "epochs must be a whole number from 1 on, got None."),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 on, got 0."),
        ({"batch_size": True}, "batch_size must be a whole number from 1 on, got True."),
        ({"target": "high"}, "target must be a number or None, got 'high'."),
        ({"target": nan}, "target must be a number or None, got nan."),
        ({"seed": "one"}, "seed must be a whole number, got 'one'."),
        ({"seed": 0.5}, "seed must be a whole number, got 0.5."),
        ({"target": True}, "target must be a number or None, got True."),
    ],
    ids=str,
)
def test_numbers(given: dict[str, Any], sentence: str) -> None:
    usual = {"epochs": 1, "batch_size": 1, "budget": None, "target": None}
    assert refused(lambda: checks.check_numbers(**{**usual, **given})) == sentence


def test_numbers_that_will_do() -> None:
    checks.check_numbers(epochs=1, batch_size=np.int64(1), budget=0.5, target=None)
    checks.check_numbers(epochs=9, batch_size=32, budget=None, target=np.float64(0.9))


def test_data_needs_a_batch_size() -> None:
    sentence = "batch_size must be a whole number from 1 on, got 0."
    assert refused(lambda: Data.of((X, Y), batch_size=0)) == sentence


@pytest.mark.parametrize("device", ["qpu", "cuda:99", "meta", 7.5])
def test_devices(device: Any) -> None:
    sentence = refused(lambda: Data.of((X, Y), batch_size=8, device=device))
    assert sentence.startswith(f"device must be one that torch can use here, got {device!r}: ")
