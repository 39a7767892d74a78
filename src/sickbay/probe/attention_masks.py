"""Tell from the autograd graph whether attention over a sequence looks ahead.

Whether torch's own attention had a mask can be asked even after backward: a mask that was there is
freed then, and asking for it raises.
"""

from typing import Any

from sickbay.probe.loss_graph import MOVING, NODES, inputs_of, nodes, shape_of, title
from sickbay.probe.saved_tensors import HiddenError, saved

SOFTMAX = ("Softmax", "SafeSoftmax")
SCALING = ("Mul", "Div")
PRODUCTS = ("Bmm", "Mm")
DEPTH = 24  # nodes followed at most


def look_ahead(node: Any, length: int) -> bool:
    """Return whether there is attention over `length` places, and none of it has a mask.

    >>> import torch
    >>> q = torch.ones(2, 1, 6, 4, requires_grad=True)
    >>> attend = torch.nn.functional.scaled_dot_product_attention
    >>> [look_ahead(attend(q, q, q, is_causal=each).grad_fn, 6) for each in (False, True)]
    [True, False]
    """
    graph = nodes(node, most=NODES)
    if len(graph) > NODES:
        return False
    masked = [each for each in (_is_masked(node, length) for node in graph) if each is not None]
    return bool(masked) and not any(masked)


def _is_masked(node: Any, length: int) -> bool | None:
    """Return whether a node attends with a mask or anything like it, None if it does not attend."""
    name, shape = title(node), shape_of(node)
    if name.startswith("ScaledDotProduct"):
        lengths = {shape_of(each)[-2:-1] for each in inputs_of(node)[:2]}
        if {shape[-2:-1], *lengths} != {(length,)}:
            return None
        if getattr(node, "_saved_is_causal", True):
            return True
        try:
            return any(saved(node, mask) is not None for mask in ("attn_mask", "attn_bias"))
        except HiddenError:  # a mask that was there is freed
            return True
    if name in SOFTMAX and shape[-2:] == (length, length):
        return not _is_plain(node)
    return None


def _is_plain(node: Any) -> bool:
    """Return whether a softmax gets products of queries and keys, at most scaled and moved."""
    for _ in range(DEPTH):
        before = inputs_of(node)
        if len(before) != 1:
            return False
        [node] = before
        if title(node) in PRODUCTS:
            return True
        if title(node) not in (*MOVING, *SCALING):
            return False
    return False
