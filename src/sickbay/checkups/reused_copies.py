"""Copies of a model, one after another, in the same memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from sickbay.model_copies import copy_of

Weights = dict[int, nn.Parameter]  # those of a copy, by the identity of the model's own


class ModelCopies:
    """Yields copies that share no state; the memory of their weights is used again.

    >>> copies = ModelCopies(nn.Linear(1, 1))
    >>> with copies.take() as one:
    ...     address = one.weight.data_ptr()
    >>> with copies.take() as other:
    ...     other is one, other.weight.data_ptr() == address
    (False, True)
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._idle: Weights = {}

    @contextmanager
    def take(self) -> Iterator[nn.Module]:
        """Yield a copy, or raise `Declined` if the model cannot be copied."""
        own = {id(each): each for each in self._model.parameters() if type(each) is nn.Parameter}
        held, self._idle = self._idle, {}
        memo: dict[int, Any] = {key: part for key, part in held.items() if key in own}
        _fill(memo, own)
        copied = copy_of(self._model, memo)
        weights = {key: memo[key] for key in own if type(memo.get(key)) is nn.Parameter}
        try:
            yield copied
        finally:
            self._idle = {key: each for key, each in weights.items() if _fits(each, own[key])}


def _fill(weights: Weights, own: Weights) -> None:
    """Make weights of an earlier copy equal to the model's own."""
    with torch.no_grad():
        for key, each in weights.items():
            vars(each).clear()
            each.requires_grad_(own[key].requires_grad).copy_(own[key])


def _fits(weight: nn.Parameter, own: nn.Parameter) -> bool:
    """Forget a weight's gradient and hooks; return whether it can hold the model's own again."""
    weight.grad = None
    for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        setattr(weight, hooks, None)
    return (
        weight.is_leaf
        and weight.shape == own.shape
        and weight.stride() == own.stride()
        and (weight.dtype, weight.device, weight.layout) == (own.dtype, own.device, own.layout)
    )
