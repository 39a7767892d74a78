"""Whether targets stand in the inputs."""

from math import nan

from torch import Tensor

FEW = 4  # samples needed to tell a copy from a coincidence
EQUAL = 1e-5  # largest difference of copies
SOME, WIDEST = 4, 4096  # columns of targets, and of inputs, that are compared


def repeated(tokens: Tensor, targets: Tensor) -> float:
    """Return the share of targets that are the tokens at the same places, NaN if unknown.

    Of either, only the first ones may be known.

    >>> import torch
    >>> repeated(torch.tensor([[3, 1, 2], [5, 6, 7]]), torch.tensor([3, 1, 4]))
    0.6666666666666666
    """
    length = tokens.shape[1]
    count = min(tokens.numel(), targets.numel())
    if tokens.ndim != 2 or targets.is_floating_point() or count % length or length < 2:
        return nan
    return float((tokens.reshape(-1)[:count] == targets.reshape(-1)[:count]).double().mean())


def copied(inputs: Tensor, targets: Tensor) -> float:
    """Return the share of target columns that also stand in the inputs, NaN if unknown.

    Targets as large as the inputs, as those of an autoencoder, are copies by design.

    >>> import torch
    >>> inputs = torch.arange(24.0).reshape(8, 3)
    >>> copied(inputs, inputs[:, 2]), copied(inputs, inputs[:, 2] ** 2), copied(inputs, inputs)
    (1.0, 0.0, nan)
    """
    samples = min(len(inputs), len(targets)) if inputs.ndim and targets.ndim else 0
    if samples < FEW or not inputs.is_floating_point() or len(inputs) != len(targets):
        return nan
    given, wanted = inputs.reshape(samples, -1), targets.reshape(samples, -1)
    if 2 * wanted.shape[1] > given.shape[1] or given.shape[1] > WIDEST or given.is_sparse:
        return nan
    varies = wanted.var(0, unbiased=False) > 0
    if not bool(varies.any()):
        return nan
    equal = (given[:, :, None] - wanted[:, None, varies][:, :, :SOME]).abs().amax(0) < EQUAL
    return float(equal.any(0).double().mean())
