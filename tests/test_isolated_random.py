"""Isolated random numbers."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sickbay.isolated_random import IsolatedRandom, evaluating


def states() -> tuple[Any, ...]:
    return torch.get_rng_state().tolist(), str(np.random.get_state()), random.getstate()


def drawn() -> tuple[float, ...]:
    return float(torch.rand(1)), float(np.random.rand()), random.random()


def fail() -> None:
    drawn()
    raise KeyError


def test_a_seed_means_what_it_means_to_torch_and_numpy() -> None:
    with IsolatedRandom(7):
        found = drawn()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        expected = float(torch.rand(1))
    plain = np.random.RandomState(7).rand(), random.Random(7).random()
    assert found == (expected, *plain)


def test_it_goes_on_where_it_was() -> None:
    parts, whole = IsolatedRandom(1), IsolatedRandom(1)
    with parts:
        first = drawn()
    drawn()
    with parts:
        second = drawn()
    with whole:
        assert (drawn(), drawn()) == (first, second)


def test_others_are_left_alone_whatever_happens() -> None:
    before = states()
    with pytest.raises(KeyError), IsolatedRandom(1):
        fail()
    model = nn.Dropout()
    with pytest.raises(KeyError), evaluating(model):
        fail()
    assert states() == before
    assert model.training


@pytest.mark.parametrize("seed", [-3, 2**40])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    with IsolatedRandom(seed):
        first = drawn()
    with IsolatedRandom(seed):
        assert drawn() == first


def test_without_a_seed_it_starts_from_the_current_states() -> None:
    before = states()
    with IsolatedRandom():
        inside = drawn()
    assert states() == before
    assert drawn() == inside
