"""The graph behind a tensor: its operations, and the tensors it starts from."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def nodes(*ends: Any) -> set[Any]:
    """Return all nodes of the graph that autograd keeps, behind some of them.

    >>> import torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> len(nodes((weight * 2 + 1).grad_fn))
    3
    """
    waiting = [each for each in ends if each is not None]
    seen = set(waiting)
    while waiting:
        new = {each for each, _ in waiting.pop().next_functions if each is not None} - seen
        waiting += new
        seen |= new
    return seen


def leaves(end: Any) -> list[Tensor]:
    """Return the tensors that would get a gradient.

    >>> import torch
    >>> leaves((torch.ones(1, requires_grad=True) * 2).grad_fn)
    [tensor([1.], requires_grad=True)]
    """
    return [each.variable for each in nodes(end) if hasattr(each, "variable")]
