"""Tensors that a node of the autograd graph has saved for backward."""

from typing import Any


class HiddenError(Exception):
    """A saved tensor cannot be looked at."""


def saved(node: Any, name: str) -> Any:
    """Return what a node has saved as `name`, None if nothing.

    Raise `HiddenError` if it was freed, or if looking at it would run code: under activation
    checkpointing, that is the forward pass.

    >>> import torch
    >>> number = torch.ones(3, requires_grad=True).exp() * torch.tensor(2.0)
    >>> saved(number.grad_fn, "other")
    tensor(2.)
    """
    try:
        packed = getattr(node, f"_raw_saved_{name}", None)
        if packed is not None and getattr(packed, "unpack_hook", True) is not None:
            raise HiddenError(name)
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError as error:
        raise HiddenError(name) from error
