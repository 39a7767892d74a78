"""Tell from the graph of a loss whether it grows as the outputs become like a constant.

Cosine similarity, Dice and the like are largest where outputs and targets agree, so a loss must
fall with them.
"""

from collections.abc import Iterator
from math import copysign, nan
from typing import Any

from torch import Tensor

from sickbay.probe.loss_graph import MOVING, inputs_of, leads_to, title
from sickbay.probe.saved_tensors import HiddenError, saved

KEEPING = (*MOVING, "Mean", "Sum", "Add", "Log")  # these grow with each of their inputs
MOST = 200  # nodes looked at


def punishes_likeness(node: Any, source: Any) -> bool:
    """Return whether a loss consists of likenesses alone, and is lower the smaller they are.

    `node` is that of the loss before backward, and `source` that of the output.

    >>> import torch
    >>> outputs, mask = torch.nn.Linear(2, 9)(torch.ones(4, 2)), torch.ones(4, 9)
    >>> p = outputs.sigmoid()
    >>> dice = 2 * (p * mask).sum() / (p.sum() + mask.sum())
    >>> [punishes_likeness(loss.grad_fn, outputs.grad_fn) for loss in (dice, 1 - dice, dice * dice)]
    [True, False, False]
    """
    try:
        signs = list(_signs(node, source))
    except HiddenError:
        return False
    return bool(signs) and all(sign > 0 for sign in signs)


def _signs(node: Any, source: Any) -> Iterator[float]:
    """Yield how the loss depends on each of its parts: 1 or -1, NaN if it is no likeness."""
    waiting, seen = [(node, 1.0)], 0
    while waiting:
        node, sign = waiting.pop()
        seen += 1
        if seen > MOST:
            yield nan
            return
        if _is_cosine(node, source) or _is_overlap(node, source):
            yield sign
        elif (slopes := _slopes(node)) is None:
            yield nan
        else:
            waiting += [(each, sign * slope) for each, slope in slopes]


def _slopes(node: Any) -> list[tuple[Any, float]] | None:
    """Return the inputs of a node, and whether it grows (1) or falls (-1) with them."""
    name, before = title(node), inputs_of(node)
    if name in KEEPING and before:
        return [(each, 1.0) for each in before]
    if name in ("Neg", "Rsub"):
        return [(each, -1.0) for each in before]
    if name == "Sub":
        both = enumerate(each for each, _ in node.next_functions)
        return [(each, -1.0 if place else 1.0) for place, each in both if each is not None]
    if name in ("Mul", "Div") and len(before) == 1 and (factor := _factor(node)):
        return [(before[0], copysign(1.0, factor))]
    return None


def _factor(node: Any) -> float:
    """Return the number that a node multiplies by or divides by, 0 if it is none."""
    for name in ("other", "self"):
        value = saved(node, name)
        if isinstance(value, Tensor):
            return float(value) if value.numel() == 1 and value.is_cpu else 0.0
        if isinstance(value, int | float):
            return float(value)
    return 0.0


def _is_cosine(node: Any, source: Any) -> bool:
    """Return whether this is the sum of products of constants and outputs over their norm."""
    if title(node) != "Sum" or title(product := inputs_of(node)[0]) != "Mul":
        return False
    factors = inputs_of(product)
    if len(factors) != 1 or title(factors[0]) != "Div" or len(inputs_of(factors[0])) != 2:
        return False
    values, size = inputs_of(factors[0])
    return leads_to(values, source) and _measures(size, source)


def _is_overlap(node: Any, source: Any) -> bool:
    """Return whether this is a sum of products of constants and outputs, over their size."""
    if title(node) != "Div" or len(inputs_of(node)) != 2:
        return False
    shared, size = inputs_of(node)
    summed = False
    while not _weighs(shared, source):
        slopes = _slopes(shared)
        if slopes is None or len(slopes) != 1 or slopes[0][1] < 0:
            return False
        summed |= title(shared) == "Sum"
        shared = slopes[0][0]
    return summed and _measures(size, source)


def _weighs(node: Any, source: Any) -> bool:
    """Return whether a node multiplies the outputs by constants."""
    before = inputs_of(node)
    return title(node) == "Mul" and len(before) == 1 and leads_to(before[0], source)


def _measures(node: Any, source: Any) -> bool:
    """Return whether a sum or a norm of the outputs is in what a node was computed from."""
    waiting, seen = [node], {node}
    while waiting and len(seen) < MOST:
        each = waiting.pop()
        if title(each) in ("Sum", "LinalgVectorNorm") and _reaches(each, source):
            return True
        waiting += (new := {*inputs_of(each)} - seen - {source})
        seen |= new
    return False


def _reaches(node: Any, source: Any) -> bool:
    """Return whether the outputs, or products of them, are what a node sums up."""
    inner = inputs_of(node)[0]
    if title(inner) in ("Mul", "Pow"):
        inner = inputs_of(inner)[0]
    return leads_to(inner, source)
