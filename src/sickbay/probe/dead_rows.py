"""The share of neurons that get no gradient: rows of a kernel's gradient that are all zero."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sickbay.vitals import COLUMN, Numbers

DEAD, ZEROS = COLUMN["dead_units"], COLUMN["zeros"]


def add_dead_rows(grads: Sequence[Tensor], values: Numbers) -> None:
    """Add the share of rows without a gradient to the statistics of these gradients.

    >>> from sickbay.probe.statistics import measure
    >>> grad = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    >>> values = measure([grad])
    >>> add_dead_rows([grad], values)
    >>> float(values[0, DEAD])
    0.5
    """
    rows = np.array([grad.shape[0] if has_rows(grad) else 0 for grad in grads])
    values[rows > 0, DEAD] = 0.0
    # A row can only be all zero if there are as many zeros as it has values, which is rare.
    for index in np.flatnonzero(values[:, ZEROS] * rows > 0.999).tolist():
        values[index, DEAD] = float(dead_share(grads[index]))


def has_rows(grad: Tensor) -> bool:
    """Return whether a gradient is that of a kernel in one piece."""
    dense = grad.layout is torch.strided and not hasattr(grad, "to_local")
    return dense and grad.ndim > 1 and grad.numel() > 0


def dead_share(grad: Tensor) -> Tensor:
    """Return the share of rows that are all zero."""
    with torch.no_grad():
        return (grad.detach().flatten(1) == 0).all(1).float().mean()
