"""Taking samples out of a batch, and where a list holds one item for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sickbay.model_copies import copy_with_strides

if TYPE_CHECKING:
    from sickbay.checkups.batch import Batch


def selected(batch: Batch, indices: Tensor) -> Batch:
    """Return some samples of a batch, in this order."""
    size, main = batch.size, batch.main
    first = len(indices) <= size and torch.equal(indices, torch.arange(len(indices)))

    def select(value: Tensor, dim: int = 0) -> Tensor:
        if value.ndim <= dim or value.shape[dim] != size:
            return value
        if first:
            return copy_with_strides(value.narrow(dim, 0, len(indices)))
        return value.index_select(dim, indices.to(value.device))

    def select_input(value: Tensor) -> Tensor:
        """Keep a mask that all samples share, even if it has as many rows as the batch."""
        shared = batch.squares_shared and value.shape == (size, size) and value is not main
        return value if shared and _is_mask(value) else select(value, batch.sample_dim)

    def select_target(value: Tensor) -> Tensor:
        """Follow targets that have one value for each position, also in a single row."""
        rows = main.shape[:2]
        if value.ndim and value.shape[0] == rows.numel() != size:
            by_place = value.reshape(*rows, *value.shape[1:])
            return select(by_place, batch.sample_dim).flatten(0, 1)
        return select(value, batch.sample_dim if value.shape[:2] == rows else 0)

    def select_items(values: list[Any]) -> list[Any] | None:
        """Return items of a list with one item for each sample."""
        tensors = all(isinstance(each, Tensor) for each in values)
        if len(values) != size or (tensors and not batch.listed):
            return None
        return [values[place] for place in indices.tolist()]

    return batch.map_inputs(select_input, select_items).map_targets(select_target, select_items)


def are_samples(values: list[Any], targets: Any) -> bool:
    """Return whether a list has one item for each sample, such as images of different sizes.

    >>> images, inputs = [torch.rand(3, 9, 9)] * 2, [torch.rand(2, 5), torch.rand(2, 4)]
    >>> are_samples(images, torch.zeros(2)), are_samples(inputs, torch.zeros(2))
    (True, False)
    """
    if not values or not all(isinstance(each, Tensor) and each.ndim for each in values):
        return False
    rows = {each.shape[0] for each in values}
    if isinstance(targets, list) or (isinstance(targets, Tensor) and targets.ndim):
        return len(targets) == len(values) and rows != {len(values)}
    return rows <= {1, 3} and all(each.ndim == 3 for each in values)


def _is_mask(value: Tensor) -> bool:
    """Return whether a tensor only says yes or no."""
    return value.dtype == torch.bool or bool((value.isinf() | (value == 0) | (value == 1)).all())
