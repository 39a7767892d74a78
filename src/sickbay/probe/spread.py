"""How much the rows of a tensor differ."""

from math import nan
from typing import TypeGuard

import torch
from torch import Tensor


def spread(outputs: Tensor) -> float:
    """Return how much outputs differ between samples, relative to their size.

    NaN for a single sample and for sparse tensors.

    >>> spread(torch.tensor([[2.0, 1.0], [2.0, 1.0]]))
    0.0
    """
    if not is_dense(outputs) or outputs.ndim == 0 or len(outputs) < 2:
        return nan
    flat = outputs.detach().reshape(len(outputs), -1).float()
    size = float(flat.square().mean().sqrt())
    return float(flat.var(0, unbiased=False).mean().sqrt()) / size if size else 0.0


def is_dense(tensor: Tensor | None) -> TypeGuard[Tensor]:
    """Return whether there is a tensor, and it is not sparse."""
    return tensor is not None and tensor.layout == torch.strided
