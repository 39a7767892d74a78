"""Find the number by which a program multiplies the outputs right before the loss.

The graph forgets such numbers in backward, so this must be called before.
"""

from math import isfinite, nan, prod
from typing import Any

from torch import Tensor

from sickbay.probe.loss_graph import ACTIVATIONS, DEPTH, MOVING, inputs_of, shape_of, title
from sickbay.probe.saved_tensors import HiddenError, saved


def output_scale(node: Any, source: Any = None) -> float:
    """Return the constant factor of an output, 1 if there is none.

    Look back from `node` to `source`, or to the layer that computed the output. A sum that is
    divided by the number of its terms is a mean and counts as 1. Learnt factors do not count.

    >>> import torch
    >>> outputs = torch.ones(4, 3, requires_grad=True).exp()
    >>> output_scale((outputs / 50).log_softmax(1).grad_fn)
    0.02
    >>> output_scale((outputs.sum(1) / 3).grad_fn)
    1.0
    """
    scale = 1.0
    for _ in range(DEPTH):
        if node is None or node is source:
            break
        if title(node) in ("Mul", "Div"):
            scale *= _factor(node)
        elif title(node) not in MOVING and title(node) not in ACTIVATIONS:
            break
        before = inputs_of(node)
        node = before[0] if len(before) == 1 else None
    if node is None or (source is not None and node is not source) or not isfinite(scale):
        return 1.0
    return 1.0 if _is_mean(node, scale) else scale


def _factor(node: Any) -> float:
    """Return the number that a node multiplies by, NaN if it is not one known constant."""
    try:
        other = saved(node, "other")
    except HiddenError:
        return nan
    if not isinstance(other, Tensor) or other.requires_grad:
        return nan
    if other.numel() != 1 or not other.is_cpu:  # a number on a GPU would have to be waited for
        return nan
    number = abs(float(other))
    if title(node) == "Mul":
        return number
    return 1 / number if number else nan


def _is_mean(node: Any, scale: float) -> bool:
    """Return whether a sum of this node, scaled, is about a mean of its terms."""
    before = inputs_of(node)
    if title(node) == "Add":  # of several layers, as in an ensemble
        return len(before) > 1
    if title(node) != "Sum" or not before:
        return False
    terms = prod(shape_of(before[0])) / max(1, prod(shape_of(node)))
    return 0.5 < scale * terms < 2
