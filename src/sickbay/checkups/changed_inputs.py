"""The same model asked twice, with one thing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch
from sickbay.checkups.sample_dimension import ungraphed

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

NOISE = 1e-5  # of the largest output: what the order of a sum may change
NUDGE = 0.02  # what is added to weights, so that those that start at zero tell something


def answer(case: Case, batch: Batch) -> Tensor:
    """Return what a new patient, its weights nudged, makes of a batch, by the same chance."""
    try:
        with case.patient() as model:
            nudge(model)
            torch.manual_seed(0)
            output = case.evaluated(batch, model).float()
    except Exception as error:
        raise Inapplicable(f"such a batch raises {type(error).__name__}") from None
    if not output.isfinite().all():
        raise Inapplicable("the output is not finite")
    return output


def nudge(model: nn.Module) -> None:
    """Change all trainable weights a little, each time the same way."""
    torch.manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad and each.is_floating_point():
                each.add_(torch.randn_like(each), alpha=NUDGE)


def some(batch: Batch, count: int) -> Batch:
    """Return the first samples, all of them where they cannot be taken apart."""
    try:
        return ungraphed(batch).first(count)
    except Inapplicable:
        return batch


def countable(batch: Batch) -> Batch:
    """Return two to five samples: a count that is no other dimension of the inputs."""
    taken = {size for each in ungraphed(batch).inputs for size in each.shape}
    count = next((each for each in (3, 2, 4, 5) if each not in taken), 3)
    return batch.rows(torch.arange(count) % batch.size)


def replaced(batch: Batch, old: Tensor, new: Tensor) -> Batch:
    """Return the batch with another tensor in the place of one of its inputs."""
    return batch.changed(lambda each: new if each is old else each, floats=False)


def altered(values: Tensor) -> Tensor:
    """Return other values of the same range.

    >>> altered(torch.tensor([[0, 1, 5, 5]])), altered(torch.tensor([[0.0, 1.0]]))
    (tensor([[1, 2, 0, 0]]), tensor([[0., 1.]]))
    """
    if values.dtype == torch.bool:
        return ~values
    low, high = values.min(), values.max()
    if not values.is_floating_point():
        wide, least = values.long(), int(low)  # which a byte is not
        return ((wide - least + 1) % (int(high) - least + 1) + least).to(values.dtype)
    mirrored = low + high - values
    return mirrored.flip(-1) if values.ndim else mirrored


def differ(one: Tensor, other: Tensor) -> Tensor:
    """Tell for each value whether it is another one, by more than noise."""
    return (one - other).abs() > NOISE * one.abs().max().clamp(min=1e-30)
