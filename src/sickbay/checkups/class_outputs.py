"""Which dimension of an output holds the classes, and labels as one-hot outputs."""

from math import prod

from torch import Tensor
from torch.nn import functional as F  # noqa: N812


def class_dimension(output: Tensor, targets: Tensor) -> int | None:
    """Return the dimension of the output that holds the classes, None if there is none.

    >>> import torch
    >>> images, tokens = torch.rand(2, 5, 8, 8), torch.rand(2, 16, 5)
    >>> class_dimension(images, torch.zeros(2, 8, 8)), class_dimension(tokens, torch.zeros(2, 16))
    (1, 2)
    >>> class_dimension(torch.rand(4, 3), torch.rand(4, 3)), class_dimension(tokens, torch.zeros(3))
    (1, None)
    """
    shape, wanted = tuple(output.shape), tuple(targets.shape)
    last = len(shape) - 1
    if last < 1:
        return None
    if shape == wanted:  # one value per class
        return last if last == 2 else 1
    if shape[:1] + shape[2:] == wanted:
        return 1
    if prod(shape[:-1]) == targets.numel() or shape[:1] == wanted:
        return last
    return None


def classes_second(output: Tensor, targets: Tensor) -> bool:
    """Return whether classes are in the second of several dimensions, as for images."""
    if targets.is_floating_point() or output.ndim < 3:
        return False
    return class_dimension(output, targets) == 1


def one_hot(output: Tensor, targets: Tensor, dimension: int) -> Tensor:
    """Return the targets in the shape of the output: one for the right class, else zero."""
    if targets.shape == output.shape:
        return targets.to(output)
    width = output.shape[dimension]
    rows = F.one_hot(targets.long().clamp(0, width - 1), width).to(output)
    if dimension == 1 and rows.ndim > 2:
        return rows.movedim(-1, 1)
    if rows.numel() != output.numel():  # one label for a whole sequence
        rows = rows.reshape(len(output), *[1] * (output.ndim - 2), width).expand_as(output)
    return rows.reshape(output.shape)
