"""Tell from the autograd graph what is wrong with a softmax near the loss."""

from math import prod
from typing import Any

from sickbay.probe.loss_graph import (
    MOVING,
    NODES,
    activation,
    inputs_of,
    nodes,
    ranks_samples,
    shape_of,
    softmax_dimension,
    title,
)

SOFTMAX = ("Softmax", "LogSoftmax")
VIEWING = ("View", "UnsafeView", "ReshapeAlias", "Clone")
TURNING = ("Transpose", "Permute", "T")
MATRIX_PRODUCTS = ("Addmm", "Mm", "Bmm")
DEPTH = 24  # nodes followed at most


def runs_over_samples(node: Any, source: Any) -> bool:
    """Return whether a softmax from the last activation to the loss runs over the samples.

    `source` is the node of the output. A square matrix may compare samples with each other, and a
    loss may rank them by their one output.

    >>> import torch
    >>> outputs = torch.nn.Linear(3, 5)(torch.ones(8, 3))
    >>> losses = [outputs.softmax(dim).log().mean() for dim in (0, 1)]
    >>> [runs_over_samples(loss.grad_fn, outputs.grad_fn) for loss in losses]
    [True, False]
    """
    samples, last = shape_of(source)[:1], activation(source)[2]
    return any(
        softmax_dimension(each) == 0
        and len(shape := shape_of(each)) > 1
        and shape[:1] == samples != shape[1:2]
        and (each is last or not ranks_samples(each))
        for each in _after_the_layers(node, source)
        if title(each) in SOFTMAX
    )


def runs_over_positions(node: Any, source: Any) -> bool:
    """Return whether a softmax in the loss runs over the positions of a sequence, not its classes.

    A linear layer gives (B, T, C). As cross-entropy takes dimension 1 for the classes, it needs
    (B, C, T). `source` is the node of the output.
    """
    shape = shape_of(source)
    if len(shape) != 3 or not _is_of_linear_layer(source):
        return False
    return any(
        title(each) in SOFTMAX
        and softmax_dimension(each) == 1
        and shape_of(each) == shape
        and (path := _path(each, source)) is not None
        and set(path) <= set(VIEWING)
        for each in nodes(node, most=NODES)
    )


def is_viewed_apart(node: Any, source: Any) -> bool:
    """Return whether a view, in place of a transpose, gives a cross-entropy its classes.

    Outputs (B, T, C) of a linear layer become (B, C, T), or outputs (B, C, H, W) of a convolution
    become (B * H * W, C), but what stands in a row of classes comes from several positions.
    `source` is the node of the output.
    """
    shape = shape_of(source)
    if len(shape) < 3:
        return False
    if _is_of_linear_layer(source):
        apart: tuple[int, ...] = (shape[0], shape[-1], *shape[1:-1])
    else:
        apart = (prod(shape) // max(1, shape[1]), shape[1])
    return apart != shape and any(
        title(each) == "LogSoftmax"
        and shape_of(each) == apart
        and (path := _path(each, source))
        and set(path) <= set(VIEWING)
        for each in nodes(node, most=NODES)
    )


def squeezed_before(node: Any, source: Any) -> str:
    """Return the activation right before a log-softmax of any term of a loss, as of a policy.

    `source` is the node of the output. A softmax that ranks samples by their one output takes any.

    >>> import torch
    >>> shares = torch.nn.Linear(3, 5)(torch.ones(8, 3)).softmax(1)
    >>> policy = torch.distributions.Categorical(logits=shares)
    >>> squeezed_before(policy.log_prob(torch.ones(8)).mean().grad_fn, shares.grad_fn)
    'softmax'
    """
    one = shape_of(source)[1:] == (1,)
    for each in _after_the_layers(node, source):
        earlier = inputs_of(each)
        if title(each) == "LogSoftmax":
            if one and ranks_samples(each):
                continue
            name, _, found = activation(earlier[0])
        elif title(each) == "Sub" and len(earlier) == 2 and title(earlier[1]) == "Logsumexp":
            name, _, found = activation(earlier[0])
            if activation(inputs_of(earlier[1])[0])[2] is not found:
                continue
        else:
            continue
        if name in ("softmax", "sigmoid"):
            return name
    return ""


def _after_the_layers(node: Any, source: Any) -> set[Any]:
    """Return the nodes of a loss back to the last activation of the model."""
    graph = nodes(node, most=NODES)
    if len(graph) > NODES:
        return set()
    last = activation(source)[2]
    return graph - (nodes(*inputs_of(last)) if last is not None else set())


def _path(node: Any, source: Any) -> list[str] | None:
    """Return the titles between a node and an earlier one, None if it does not lead there."""
    found: list[str] = []
    while len(found) < DEPTH:
        node = next(iter(inputs_of(node)), None)
        if node is source:
            return found
        if node is None:
            return None
        found.append(title(node))
    return None


def _is_of_linear_layer(node: Any) -> bool:
    """Return whether a linear layer computed an output: its last dimension has the classes."""
    for _ in range(DEPTH):
        if node is None or title(node) in TURNING or title(node) not in MOVING:
            break
        node = next(iter(inputs_of(node)), None)
    return title(node) in MATRIX_PRODUCTS or (
        title(node) == "Add" and any(map(_is_of_linear_layer, inputs_of(node)))
    )
