"""Tell from the autograd graph whether another model judges the outputs, or learns through them."""

from collections.abc import Collection, Iterable
from typing import Any

from torch import Tensor, nn

from sickbay.probe.loss_graph import NODES, inputs_of, nodes, title

LAYERS = ("Addmm", "Convolution")
MOST = 200  # nodes before a model that are looked at


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


def feeder(inputs: Iterable[Any]) -> nn.Parameter | None:
    """Return the nearest parameter that inputs were computed with, None if there is none near.

    If another model has it, that model learns through this one, as a generator does.

    >>> import torch
    >>> generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    >>> made = generator(torch.ones(4, 2))
    >>> feeder([made]) is generator.bias, feeder([made.detach()])
    (True, None)
    """
    waiting = [each.grad_fn for each in inputs if isinstance(each, Tensor) and each.grad_fn]
    seen = set(waiting)
    while waiting and len(seen) < MOST:
        node = waiting.pop(0)
        parameter = getattr(node, "variable", None)
        if isinstance(parameter, nn.Parameter):
            return parameter
        new = [each for each in inputs_of(node) if each not in seen]
        seen.update(new)
        waiting += new
    return None
