"""Recognise masks that are added to the scores of attention: 0 and -Inf are no data."""

from math import inf

import torch
from torch import Tensor


def is_additive_mask(tensor: Tensor, samples: int) -> bool:
    """Return whether an input is such a mask. `samples` is the size of the batch.

    On a GPU only the shape tells, as its values would have to be waited for.

    >>> mask = torch.nn.Transformer.generate_square_subsequent_mask(4)
    >>> is_additive_mask(mask, 4), is_additive_mask(torch.zeros(4, 4), 4)
    (True, False)
    """
    if not tensor.is_floating_point() or tensor.ndim < 2 or tensor.layout != torch.strided:
        return False
    if tensor.ndim == 2 and tensor.shape[0] == tensor.shape[1] != samples:
        return True
    if not tensor.is_cpu or not bool((tensor.flatten()[-2:] <= 0).all()):
        return False
    shut = tensor == -inf
    return bool(shut.any()) and bool((shut | (tensor == 0)).all())
