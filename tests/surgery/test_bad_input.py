"""Invalid arguments get one sentence, before anything is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sickbay import surgery
from sickbay.errors import Declined, UsageError

X = torch.ones(4, 2)


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))


CASES: list[tuple[Any, str]] = [
    (lambda: surgery.replace_activations(model(), (X,), X), "There is no activation 'tensor("),  # type: ignore[arg-type]
    (
        lambda: surgery.replace_activations(model(), (X,), "relu", layers=3),  # type: ignore[arg-type]
        "layers must be a list of names, got 3.",
    ),
    (
        lambda: surgery.replace_activations(model(), (X,), "relu", layers=[X]),  # type: ignore[list-item]
        "There is no layer 'tensor(",
    ),
    (lambda: surgery.initialise(model(), [], seed=0), "There is no scheme '[]'"),  # type: ignore[arg-type]
    (lambda: surgery.initialise(model(), "he_normal", seed=-1), "seed must be a whole number of"),
    (lambda: surgery.add_dropout(model(), (X,), "x"), "p must be a number above 0 and at most 0.5"),  # type: ignore[arg-type]
    (lambda: surgery.replace_output(model(), (X,), None), "There is no output activation 'None'"),  # type: ignore[arg-type]
    (
        lambda: surgery.resize_output(model(), (X,), 2.5, seed=0),  # type: ignore[arg-type]
        "width must be a whole number of at least 1, got 2.5.",
    ),
    (
        lambda: surgery.scale_outputs(model(), (X,), "much", 1.0),  # type: ignore[arg-type]
        "mean must be a number, or one for each output, got 'much'.",
    ),
    (lambda: surgery.scale_outputs(model(), (X,), 0.0, -1.0), "std must be at least 0, got -1.0."),
    (
        lambda: surgery.scale_outputs(model(), (X,), torch.nan, 1.0),
        "mean must be finite, got nan.",
    ),
    (
        lambda: surgery.lower_dropout(model(), (X,), 1.5),
        "p must be a number of at least 0 and at most 1, got 1.5.",
    ),
    (
        lambda: surgery.widen_layers(model(), (X,), 0, seed=0),
        "width must be a whole number of at least 1, got 0.",
    ),
    (lambda: surgery.widen_layers(model(), (X,), 9, seed=-1), "seed must be a whole number of"),
    (
        lambda: surgery.keep_positive(model(), (X,), 1),  # type: ignore[arg-type]
        "columns must be a list of column numbers, got 1.",
    ),
    (
        lambda: surgery.keep_positive(model(), (X,), [-1]),
        "column must be a whole number of at least 0, got -1.",
    ),
    (lambda: surgery.standardise_inputs(model(), 0, X), "mean must be a tensor of real numbers"),  # type: ignore[arg-type]
    (
        lambda: surgery.standardise_inputs(model(), X, X.to(torch.complex64)),
        "std must be a tensor of real numbers",
    ),
    (
        lambda: surgery.standardise_inputs(model(), X.to("meta"), X),
        "mean must be a tensor of real numbers",
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=range(len(CASES)))
def test_invalid_arguments(call: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_more_outputs_than_there_is_memory_for() -> None:
    with pytest.raises(Declined, match=r"The last layer cannot have 10{18} outputs: "):
        surgery.resize_output(model(), (X,), 10**18, seed=0)


def test_seeds_and_widths_may_be_numpy_integers() -> None:
    made = surgery.resize_output(model(), (X,), np.int64(3), seed=np.int64(0))  # type: ignore[arg-type]
    assert made(X).shape == (4, 3)
