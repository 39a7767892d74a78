"""Inputs that are sequences, and where in the outputs their places are found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch

if TYPE_CHECKING:
    from sickbay.checkups.case import Case


def time_of(case: Case) -> int:
    """Return the dimension of the first input that is time."""
    batch, main = case.batch, case.batch.main
    if batch.tokens and main.ndim == 2:
        return 1 - batch.along
    recurrent = any(isinstance(each, nn.RNNBase) for each in case.model.modules())
    if main.is_floating_point() and main.ndim == 3 and (recurrent or case.attention.seen):
        return 1 - batch.along
    for time in range(1, main.ndim):
        if not batch.along and next_of(main, batch.targets, time) == "next":
            return time
    raise Inapplicable("the inputs are no sequences")


def resized(batch: Batch, time: int, length: int) -> Batch:
    """Return sequences of another length: cut, or repeated from their start."""
    size, main, old = batch.size, batch.main, batch.main.shape[time]
    places = torch.arange(length, device=main.device) % old

    def fitted(value: Tensor) -> Tensor:
        if value is main:
            return value.index_select(time, places)
        counts = value.ndim > batch.along and value.shape[batch.along] == size
        for dimension in range(value.ndim):
            if value.shape[dimension] == old and not (counts and dimension == batch.along):
                value = value.index_select(dimension, places)
        return value

    return batch.changed(fitted, floats=False)


def by_place(output: Tensor, samples: int, length: int, along: int = 0) -> Tensor | None:
    """Return outputs as samples by places by values, None if they have no places.

    >>> by_place(torch.rand(6, 5), 2, 3).shape, by_place(torch.rand(2, 5), 2, 3)
    (torch.Size([2, 3, 5]), None)
    """
    shape = tuple(output.shape)
    if shape[:2] == (samples, length):
        return output.reshape(samples, length, -1)
    if shape[:2] == (length, samples):
        return output.transpose(0, 1).reshape(samples, length, -1)
    if len(shape) == 3 and (shape[0], shape[2]) == (samples, length):
        return output.transpose(1, 2)
    if len(shape) == 2 and shape[0] == samples * length and length > 1:
        if along:
            return output.reshape(length, samples, -1).transpose(0, 1)
        return output.reshape(samples, length, -1)
    return None


def next_of(values: Tensor, targets: Tensor | None, time: int) -> str:
    """Tell what targets are: "next" values, the "same", or "" for neither.

    >>> next_of(torch.tensor([[1, 2, 3]]), torch.tensor([[2, 3, 4]]), 1)
    'next'
    """
    if targets is None or targets.numel() != values.numel():
        return ""
    targets = targets.reshape(values.shape)
    length = values.shape[time]
    if length < 3 or targets.is_floating_point() != values.is_floating_point():
        return ""
    ahead, behind = values.narrow(time, 1, length - 1), values.narrow(time, 0, length - 1)
    if torch.equal(ahead, behind):
        return ""
    wanted = targets.narrow(time, 0, length - 1)
    if _equal(wanted, ahead):
        return "next"
    return "same" if _equal(targets, values) else ""


def _equal(targets: Tensor, values: Tensor) -> bool:
    """Tell whether all targets that count are these values."""
    counts = targets >= 0 if not targets.is_floating_point() else targets.isfinite()
    return bool(counts.float().mean() > 0.25 and (targets == values)[counts].all())
