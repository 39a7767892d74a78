"""Running a model twice, with one part of the input changed."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import Batch
from sickbay.checkups.training_setup import Setup

ROUNDING = 1e-5  # of the largest output: what the order of a sum may change
NUDGE = 0.02  # added to weights, so that those that start at zero matter


def nudged_output(setup: Setup, batch: Batch) -> Tensor:
    """Return the output of a new copy whose weights were nudged, with fixed random numbers."""
    try:
        with setup.model_copy() as model:
            _nudge(model)
            torch.manual_seed(0)
            output = setup.evaluate(batch, model).float()
    except Exception as error:
        raise Inapplicable(f"such a batch raises {type(error).__name__}") from None
    if not output.isfinite().all():
        raise Inapplicable("the output is not finite")
    return output


def unambiguous_samples(batch: Batch) -> Batch:
    """Return two to five samples, a number that no other dimension of the inputs has."""
    taken = {size for each in batch.require_samples().inputs for size in each.shape}
    return batch.cycle(next((each for each in (3, 2, 4, 5) if each not in taken), 3))


def altered(values: Tensor) -> Tensor:
    """Return other values of the same range.

    >>> altered(torch.tensor([[0, 1, 5, 5]])), altered(torch.tensor([[0.0, 1.0]]))
    (tensor([[1, 2, 0, 0]]), tensor([[0., 1.]]))
    """
    if values.dtype == torch.bool:
        return ~values
    low, high = values.min(), values.max()
    if not values.is_floating_point():
        wide, least = values.long(), int(low)  # a byte would overflow
        return ((wide - least + 1) % (int(high) - least + 1) + least).to(values.dtype)
    mirrored = low + high - values
    return mirrored.flip(-1) if values.ndim else mirrored


def changed(one: Tensor, other: Tensor) -> Tensor:
    """Return for each value whether it differs by more than rounding."""
    return (one - other).abs() > ROUNDING * one.abs().max().clamp(min=1e-30)


def by_sample(output: Tensor, samples: int, sample_dim: int) -> list[Tensor]:
    """Return the ways in which an output may hold one row of values for each sample."""
    ways = []
    if output.ndim > sample_dim and output.shape[sample_dim] == samples:
        ways.append(output.movedim(sample_dim, 0))
    if sample_dim and output.shape[0] == samples:
        ways.append(output)
    if not sample_dim and output.ndim > 2 and output.shape[1] == samples != output.shape[0]:
        ways.append(output.movedim(1, 0))
    if not ways and output.shape[0] % samples == 0:
        ways.append(output)
        ways.append(output.reshape(output.shape[0] // samples, samples, -1).movedim(1, 0))
    return [each.reshape(samples, -1) for each in ways]


def _nudge(model: nn.Module) -> None:
    """Change all trainable weights a little, always in the same way."""
    torch.manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            if each.requires_grad and each.is_floating_point():
                each.add_(torch.randn_like(each), alpha=NUDGE)
