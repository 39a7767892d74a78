"""Whether the targets are the inputs, or what comes next in them."""

import torch
from torch import Tensor


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


def is_time_first(values: Tensor, targets: Tensor | None) -> bool:
    """Return whether targets are the next values along the first dimension, and only there.

    >>> text = torch.randint(9, (7, 4))
    >>> is_time_first(text[:-1], text[1:]), is_time_first(text[:, :-1], text[:, 1:])
    (True, False)
    """
    if values.ndim < 2 or (values.is_floating_point() and values.ndim != 3):
        return False
    relations = [relation_to_targets(values, targets, time) for time in (0, 1)]
    return relations[0] == "next" != relations[1]
