"""The label that stands for padding, where sequences of different lengths have been made equal."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

FEW = 8  # samples that must agree
SHORT = 4  # positions of the shortest sequences that are judged
LENGTHS = 3  # different lengths
RARE = 0.05  # of all positions


def padding(inputs: Sequence[Tensor], targets: Tensor) -> int | None:
    """Return the label at the end of sequences where an input has ended too, None if none is.

    A label is padding if it comes only in one run at the end of samples, of different lengths, and
    if an input is the same number at all these positions, and nowhere else.

    >>> words = torch.randint(1, 9, (20, 7)) * (torch.arange(7) <= torch.arange(20)[:, None] % 6)
    >>> padding((words,), words * 2), padding((words + torch.arange(7),), words * 2)
    (0, None)
    """
    if targets.is_floating_point() or targets.ndim != 2 or targets.shape[1] < SHORT:
        return None
    count = min(len(targets), *(len(each) for each in inputs)) if inputs else 0
    targets = targets[:count].cpu()
    if count < FEW:
        return None
    label = int(targets[:, -1].mode().values)
    over = targets == label
    lengths = over.sum(1)
    at_the_end = bool((over == (over.flip(1).cumprod(1).flip(1) > 0)).all())
    varied = len(set(lengths.tolist())) >= LENGTHS
    if not at_the_end or not varied or float(over.double().mean()) < RARE:
        return None
    return label if any(_ends(each[:count].cpu(), over) for each in inputs) else None


def _ends(values: Tensor, over: Tensor) -> bool:
    """Return whether an input is the same number wherever the targets are over, and only there.

    The input of a decoder may lag by one position.
    """
    if values.shape[:2] != over.shape or values.ndim > 3:
        return False
    rows = values.reshape(*over.shape, -1)
    lagging = torch.cat([torch.zeros_like(over[:, :1]), over[:, :-1]], 1) & over
    for ended in (over, lagging):
        if bool(ended.any()):
            same = (rows == rows[ended][0]).all(2)
            if torch.equal(same, ended):
                return True
    return False
