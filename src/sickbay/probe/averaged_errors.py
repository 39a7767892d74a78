"""Tell from the autograd graph whether a loss averages the errors of a sample as they are."""

from math import prod
from typing import Any

from sickbay.probe.loss_graph import MOVING, NODES, inputs_of, nodes, shape_of, title

DEPTH = 8  # nodes between a mean and the output at most


def averages_errors(node: Any, source: Any) -> bool:
    """Return whether targets are taken from the outputs of each sample, and the rest is averaged.

    Then errors of opposite signs cancel out. A model may well average or add up its outputs before
    it compares them, as an ensemble does. `source` is the node of the output.

    >>> import torch
    >>> outputs = torch.nn.Linear(3, 5)(torch.ones(8, 3))
    >>> means = (outputs - torch.ones(8, 5)).mean(1), outputs.mean(1) - torch.ones(8)
    >>> [averages_errors(mean.square().mean().grad_fn, outputs.grad_fn) for mean in means]
    [True, False]
    """
    whole = shape_of(source)
    return any(
        title(each) in ("Mean", "Sum")
        and shape_of(each)[:1] == whole[:1]
        and prod(shape_of(each)) < prod(whole)
        and _is_of_errors(each, source)
        for each in nodes(node, most=NODES)
    )


def _is_of_errors(node: Any, source: Any) -> bool:
    """Return whether a node gets the outputs less something that is not learnt, and only that."""
    differences = 0
    for _ in range(DEPTH):
        before = inputs_of(node)
        if len(before) != 1:
            return False
        if (node := before[0]) is source:
            return differences == 1
        if title(node) not in (*MOVING, "Sub", "Rsub"):
            return False
        differences += title(node) in ("Sub", "Rsub")
    return False
