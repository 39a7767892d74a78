"""Models that compute their loss themselves, and so are given the targets too."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor


def without_loss(output: Any) -> tuple[Tensor | None, bool]:
    """Return the first tensor of an output that is no loss, and whether there is a loss beside it.

    If there is nothing but a loss, that is the output.

    >>> import torch
    >>> weight = torch.ones(3, requires_grad=True)
    >>> tensor, own = without_loss({"loss": weight.sum(), "logits": 2 * weight})
    >>> tensor.shape, own
    (torch.Size([3]), True)
    """
    found = list(_tensors(output))
    losses = [each for each in found if not each.ndim and each.grad_fn is not None]
    return next((each for each in found if each.ndim), found[0] if found else None), bool(losses)


def token_rows(inputs: Sequence[Tensor], own_loss: bool) -> list[Tensor]:
    """Return the inputs that are rows of whole numbers; next to a loss, later ones are targets.

    >>> import torch
    >>> tokens = torch.ones(2, 3, dtype=torch.long)
    >>> len(token_rows([tokens, tokens], False)), len(token_rows([tokens, tokens], True))
    (2, 1)
    """
    given = inputs[:1] if own_loss else inputs
    return [each for each in given if each.ndim > 1 and not each.is_floating_point()]


def _tensors(output: Any) -> Iterator[Tensor]:
    if isinstance(output, Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, dict):
        for each in output.values():
            yield from _tensors(each)
    elif isinstance(output, tuple | list):
        for each in output:
            yield from _tensors(each)
