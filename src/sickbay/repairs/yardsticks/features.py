"""Inputs of any kind as rows of ordinary numbers, for simple models."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor
from torch.nn import functional

MOST = 400  # features
SIDE = 16  # of an image, in pixels
WORDS = 1024  # different tokens, by their numbers modulo this; columns share them
FEW = 4  # columns of whole numbers that are names of things, not a text
FARTHEST = 10.0  # standard deviations
SPARSE = 0.8  # share of zeros


class Features:
    """Turns inputs into standardised features, with the mean and scale of the samples it is given.

    Whole numbers that an embedding reads (`named`) become bags of words. Images are made smaller,
    other inputs of many values are projected. Values that are not finite become the mean.

    >>> x = torch.tensor([[1.0, 5.0], [3.0, 5.0], [torch.nan, 5.0]])
    >>> Features((x,), named=False)((x,)).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """

    def __init__(self, inputs: Sequence[Tensor], named: bool) -> None:
        self._named = named
        rows = self._rows(inputs)
        finite = rows.isfinite()
        count = finite.sum(0).clamp(min=1)
        self._mean = rows.where(finite, 0).sum(0) / count
        spread = (rows - self._mean).where(finite, 0).square().sum(0) / count
        self._scale = spread.sqrt()
        self._scale[self._scale <= 1e-9 * (1 + self._mean.abs())] = torch.inf  # it is constant
        if float((rows == 0).double().mean()) > SPARSE:  # rare words would count too much
            self._scale = self._scale.clamp(min=float(spread.mean().sqrt()))
        wide, own = rows.shape[1], Generator().manual_seed(0)
        self._projection: Tensor | None = None
        if wide > MOST and not named:
            self._projection = torch.randn(wide, MOST, generator=own) / wide**0.5

    def __call__(self, inputs: Sequence[Tensor]) -> Tensor:
        rows = (self._rows(inputs) - self._mean) / self._scale
        rows = rows.nan_to_num(0.0, FARTHEST, -FARTHEST).clamp(-FARTHEST, FARTHEST).float()
        return rows if self._projection is None else rows @ self._projection

    def _rows(self, inputs: Sequence[Tensor]) -> Tensor:
        return torch.cat([self._numbers(each.detach().cpu()) for each in inputs], 1)

    def _numbers(self, values: Tensor) -> Tensor:
        whole = not values.is_floating_point() and values.dtype != torch.bool
        if whole and self._named and values.ndim <= 2:
            return bag_of_words(values.reshape(len(values), -1))
        values = values.double()
        if values.ndim == 4 and values.shape[2] * values.shape[3] > SIDE**2:
            values = functional.adaptive_avg_pool2d(values, SIDE)
        return values.reshape(len(values), -1)


def bag_of_words(tokens: Tensor) -> Tensor:
    """Return how often each token occurs in each row, damped; a few columns count apart.

    >>> bag_of_words(torch.tensor([[3, 3, 3, 3, 3], [1, 2, 1, 2, 1]]))[:, 1:4].expm1().round()
    tensor([[0., 0., 5.],
            [3., 2., 0.]], dtype=torch.float64)
    """
    columns = tokens.shape[1]
    if columns <= FEW:
        words = WORDS // columns
        return torch.cat([functional.one_hot(each % words, words) for each in tokens.T], 1).double()
    counts = torch.zeros(len(tokens), WORDS, dtype=torch.double)
    counts.scatter_add_(1, tokens.long() % WORDS, torch.ones_like(tokens, dtype=torch.double))
    return counts.log1p()
