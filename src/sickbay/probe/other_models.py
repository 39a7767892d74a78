"""Tell from the autograd graph whether another model judges the outputs, as a critic does."""

from collections.abc import Collection
from typing import Any

from torch import nn

from sickbay.probe.loss_graph import NODES, inputs_of, nodes, title

LAYERS = ("Addmm", "Convolution")


def are_passed_on(node: Any, source: Any, own: Collection[int]) -> bool:
    """Return whether a loss is computed by another model, or by layers that are frozen.

    `source` is the node of the output, and `own` has the ids of the parameters that are trained.
    A graph that is too large to search counts as well.

    >>> import torch
    >>> actor, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    >>> actions = actor(torch.ones(4, 2))
    >>> losses = -critic(actions).mean(), actions.square().mean()
    >>> own = {*map(id, actor.parameters())}
    >>> [are_passed_on(loss.grad_fn, actions.grad_fn, own) for loss in losses]
    [True, False]
    """
    graph = nodes(node, most=NODES)
    if len(graph) > NODES:
        return True
    parameters = (getattr(each, "variable", None) for each in graph)
    if any(isinstance(each, nn.Parameter) and id(each) not in own for each in parameters):
        return True
    later = graph - nodes(source, most=NODES)
    return any(title(each) in LAYERS and len(inputs_of(each)) == 1 for each in later)
