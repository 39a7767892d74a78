"""Tell from the graph whether a loss written by hand compares every output with every target."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch import Tensor

from sickbay.probe.loss_graph import (
    NODES,
    activation,
    inputs_of,
    kernels_of,
    leads_to,
    nodes,
    shape_of,
    title,
)
from sickbay.probe.saved_tensors import HiddenError, saved

# No addition: a mask of shape (B, B) may be added, and is forgotten.
DIFFERENCES, PRODUCTS = ("Sub", "Rsub"), ("Mul", "Div", "Pow")
PASSING = (*DIFFERENCES, *PRODUCTS, "Add", "Neg", "Abs", "Exp", "Log", "ToCopy")
WHOLE = ("MeanBackward0", "SumBackward0")  # over all dimensions


def is_stretched(node: Any, source: Any, own: Collection[int] = ()) -> bool:
    """Return whether a loss written by hand compares every output with every target of the batch.

    An output of shape (B, 1) less a target of shape (B,) has the shape (B, B). `source` is the node
    of the output. What a layer with a kernel in `own` (by id) computes is an output too, such as
    the values beside a policy. A product counts if all of its values are averaged: a matrix may
    choose some of the samples for each.
    """
    batch = shape_of(source)[:1]
    if not batch or batch[0] < 2:
        return False
    graph = nodes(node, most=NODES)
    for each in graph:
        before = inputs_of(each)
        if len(before) != 1 or shape_of(each) != batch * 2:
            continue
        if shape_of(before[0]) not in ((*batch, 1), batch):
            continue
        if title(each) in DIFFERENCES or (
            title(each) in PRODUCTS and not _has_matrix(each) and _is_averaged(each, graph)
        ):
            kernels = kernels_of(activation(before[0])[2])
            if leads_to(before[0], source) or any(id(kernel) in own for kernel in kernels):
                return True
    return False


def _has_matrix(node: Any) -> bool:
    """Return whether a constant of full shape is known to be in a product."""
    try:
        factors = [saved(node, name) for name in ("self", "other")]
    except HiddenError:  # after backward
        return False
    return any(isinstance(each, Tensor) and each.shape == shape_of(node) for each in factors)


def _is_averaged(node: Any, graph: Collection[Any]) -> bool:
    """Return whether a node is used value by value, up to a mean or sum over all of its values."""
    users = [each for each in graph if node in inputs_of(each)]
    return bool(users) and all(
        each.name() in WHOLE or (title(each) in PASSING and _is_averaged(each, graph))
        for each in users
    )
