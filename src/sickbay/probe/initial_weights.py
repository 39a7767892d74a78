"""Recognise layers that still have the random weights torch gave them, and layers it cannot see."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import sqrt
from typing import Any

from torch import Tensor, nn

from sickbay.probe.loss_graph import NODES, nodes

SAMPLE, LEAST = 4096, 64  # values that are looked at, and that are needed
CLOSE = 0.12  # relative difference of deviations that chance may explain


def frozen_at_random(modules: Mapping[str, nn.Module]) -> tuple[str, ...]:
    """Return the layers that require no gradient, although they were never trained.

    >>> frozen_at_random({"0": nn.Linear(20, 9).requires_grad_(False), "1": nn.Linear(20, 9)})
    ('0',)
    """
    return tuple(
        name
        for name, module in modules.items()
        for weight in module.parameters(recurse=False)
        if weight.ndim > 1 and not weight.requires_grad and looks_initial(module, weight)
    )


def first_sum(module: nn.Module) -> float:
    """Return the sum of the first weights of a layer, which tells whether they have changed."""
    weight = next(each for each in module.parameters(recurse=False) if each.ndim > 1)
    return float(weight.detach().flatten()[:SAMPLE].double().sum())


def looks_initial(module: nn.Module, weight: Tensor) -> bool:
    """Return whether a weight is spread as torch spreads the first weights of such a module.

    Linear layers and convolutions start evenly between two bounds, which trained weights exceed;
    embeddings start from a normal distribution of deviation 1.
    """
    if weight.is_meta or not weight.is_floating_point() or weight.numel() < LEAST:
        return False
    values = weight.detach().flatten()[:SAMPLE].float().cpu()
    deviation = float(values.std())
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return abs(deviation - 1) < CLOSE and abs(float(values.mean())) < CLOSE
    if not isinstance(module, nn.Linear | nn.modules.conv._ConvNd):
        return False
    bound = 1 / sqrt(weight[0].numel())
    inside = float(values.abs().max()) <= bound * 1.0001
    return inside and abs(deviation / (bound / sqrt(3)) - 1) < CLOSE


def unregistered(model: nn.Module, own: Collection[int], node: Any) -> int:
    """Count the kernels in plain lists, tuples and dicts of a model that are not in `own` (by id).

    Only those count that the loss would train; `node` is that of the loss. So a teacher, whose
    answers are detached, may be kept in a list.

    >>> import torch
    >>> model = nn.Identity()
    >>> model.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
    >>> unregistered(model, [], model.layers[0](torch.ones(3, 2)).mean().grad_fn)
    1
    """
    kept = [
        each for part in model.modules() for value in vars(part).values() for each in _in(value)
    ]
    if not kept:
        return 0
    trained = {id(getattr(each, "variable", None)) for each in nodes(node, most=NODES)}
    return sum(
        parameter.ndim > 1 and id(parameter) in trained and id(parameter) not in own
        for module in kept
        for parameter in module.parameters()
    )


def _in(value: Any) -> Iterator[nn.Module]:
    held: Iterable[Any] = value.values() if type(value) is dict else value
    if type(value) in (list, tuple, dict):
        yield from (each for each in held if isinstance(each, nn.Module))
