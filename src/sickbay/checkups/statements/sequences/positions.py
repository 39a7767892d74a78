"""Positions of sequences: their dimension in inputs, and where outputs have them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.sequences.attention import observed_attention
from sickbay.checkups.training_setup import Setup


def time_dimension(setup: Setup) -> int:
    """Return the dimension of the first input that is time."""
    batch, main = setup.batch, setup.batch.main
    if batch.tokens and main.ndim == 2:
        return 1 - batch.sample_dim
    recurrent = any(isinstance(each, nn.RNNBase) for each in setup.model.modules())
    rows = main.is_floating_point() and main.ndim == 3
    if rows and (recurrent or setup.once(observed_attention).seen):
        return 1 - batch.sample_dim
    for time in range(1, main.ndim):
        if not batch.sample_dim and relation_to_targets(main, batch.targets, time) == "next":
            return time
    raise Inapplicable("the inputs are not sequences")


def with_length(batch: Batch, time: int, length: int) -> Batch:
    """Return sequences of another length: cut, or repeated from their start."""
    size, main, old = batch.size, batch.main, batch.main.shape[time]
    places = torch.arange(length, device=main.device) % old

    def resize(value: Tensor) -> Tensor:
        if value is main:
            return value.index_select(time, places)
        dim = batch.sample_dim
        has_samples = value.ndim > dim and value.shape[dim] == size
        for dimension in range(value.ndim):
            if value.shape[dimension] == old and not (has_samples and dimension == dim):
                value = value.index_select(dimension, places)
        return value

    return batch.map_inputs(resize, floats_only=False)


def by_position(output: Tensor, samples: int, length: int, sample_dim: int = 0) -> Tensor | None:
    """Return an output as samples by positions by values, None if it has no positions.

    >>> by_position(torch.rand(6, 5), 2, 3).shape, by_position(torch.rand(2, 5), 2, 3)
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
        if sample_dim:
            return output.reshape(length, samples, -1).transpose(0, 1)
        return output.reshape(samples, length, -1)
    return None


def relation_to_targets(values: Tensor, targets: Tensor | None, time: int) -> str:
    """Return "next" if targets are the next values, "same" if they are equal, else "".

    >>> relation_to_targets(torch.tensor([[1, 2, 3]]), torch.tensor([[2, 3, 4]]), 1)
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
    if _equal(targets.narrow(time, 0, length - 1), ahead):
        return "next"
    return "same" if _equal(targets, values) else ""


def _equal(targets: Tensor, values: Tensor) -> bool:
    """Return whether all targets that are not ignored have these values."""
    counted = targets >= 0 if not targets.is_floating_point() else targets.isfinite()
    return bool(counted.float().mean() > 0.25 and (targets == values)[counted].all())
