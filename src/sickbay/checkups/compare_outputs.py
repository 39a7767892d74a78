"""Running a model twice and comparing what it returns."""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch
from sickbay.checkups.training_setup import Setup
from sickbay.isolated_random import IsolatedRandom

SMALLEST_OUTPUT = 1e-6  # counted as the size of an output that is all zero
FILL = 0.05  # standard deviation of weights that replace zeros


def seeded_output(setup: Setup, model: nn.Module, batch: Batch, seed: int = 0) -> Tensor:
    """Return the output of a model, with random numbers from a seed."""
    with IsolatedRandom(seed):
        return setup.evaluate(batch, model)


def difference(one: Tensor, other: Tensor) -> float:
    """Return the largest difference relative to the largest value, inf if NaN is in only one.

    >>> difference(Tensor([2.0, 0.0]), Tensor([2.0, 1.0]))
    0.5
    """
    if one.shape != other.shape:
        return inf
    one, other = one.double(), other.double()
    finite = one.isfinite()
    if not one[~finite].nan_to_num().equal(other[~finite].nan_to_num()):
        return inf
    one, other = one[finite], other[finite]
    if not one.numel():
        return 0.0
    if not other.isfinite().all():
        return inf
    return (one - other).abs().max().item() / max(one.abs().max().item(), SMALLEST_OUTPUT)


def fill_zero_weights(model: nn.Module) -> None:
    """Randomise every parameter that is all zero, in place: it would hide what comes before it.

    >>> model = nn.Linear(2, 2)
    >>> _ = nn.init.zeros_(model.bias)
    >>> fill_zero_weights(model)
    >>> bool(model.bias.any())
    True
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and not parameter.any():
                parameter.normal_(0, FILL)
