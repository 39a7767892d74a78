"""Putting norms into a network, as in one whose signals shrink or grow from layer to layer."""

from __future__ import annotations

from typing import Any

from torch import nn

from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of
from sickbay.surgery.activation_sites import hidden, is_normalised, layer_before, sites
from sickbay.surgery.change_activations import Surgeon, unshare
from sickbay.surgery.forward_pass import Flow, Operation, examine
from sickbay.surgery.new_modules import Change, Part
from sickbay.surgery.torch_names import CONVOLUTIONS, SEQUENTIAL

BATCH = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}


def insert_normalisation(model: nn.Module, example: tuple[Any, ...]) -> nn.Module:
    """Return a copy of the model with a norm before each hidden activation that has none.

    A batch norm after convolutions and linear layers; a layer norm in sequences, in code that runs
    several times, and if the example is a batch of one. An activation module becomes
    `Sequential(norm, activation)` under its old name.

    Raises:
        Declined: If no norm is missing, or it cannot be put in safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        >>> [type(each).__name__ for each in insert_normalisation(model, (torch.ones(2, 3),))[1]]
        ['BatchNorm1d', 'Tanh']
    """
    result = copy_of(model)
    unshare(result)
    flow = examine(result, example)
    found = [each for site in sites(flow) if site.way != "recurrent" for each in hidden(flow, site)]
    norms = {each.index: norm_before(flow, each) for each in found if not is_normalised(flow, each)}
    changes = {index: Change(before=norm) for index, norm in norms.items() if norm is not None}
    if not changes:
        raise Declined(_why_nothing(len(found), len(norms)))
    Surgeon(result, example, flow).apply(changes)
    return checked(result, model, example)


def _why_nothing(activations: int, bare: int) -> str:
    if not activations:
        return "There is no hidden activation that a norm could come before."
    if not bare:
        return "There is a norm before every hidden activation already."
    return "The signals before the hidden activations are too narrow for a norm."


def norm_before(flow: Flow, activation: Operation) -> Part | None:
    """Return the norm that fits what an activation takes, None if a norm would erase it."""
    form = activation.taken
    if form is None or not form.dtype.is_floating_point:
        return None
    shape, dims = form.shape, image_dims(flow, activation)
    place = activation.owner, activation.place
    options = form.device, form.dtype, place
    # A batch norm learns one level for all its calls, and needs several samples for it.
    in_batches = len(shape) > 1 and shape[0] > 1 and _calls(flow, place) == 1
    if dims:
        if in_batches:
            return Part(BATCH[dims], (shape[1],), *options)
        return Part(nn.GroupNorm, (1, shape[1]), *options) if max(shape[1:]) > 1 else None
    layer, _ = layer_before(flow, activation)
    in_sequence = layer is not None and layer.name in SEQUENTIAL
    if len(shape) == 2 and in_batches and not in_sequence:
        return Part(nn.BatchNorm1d, (shape[1],), *options)
    # The layer norm of a single number is zero, whatever the number.
    return Part(nn.LayerNorm, (shape[-1],), *options) if shape and shape[-1] > 1 else None


def _calls(flow: Flow, place: tuple[str, int]) -> int:
    return sum((each.owner, each.place) == place for each in flow.activations())


def image_dims(flow: Flow, operation: Operation) -> int:
    """Return how many dimensions follow the channels of what an operation takes; 0: no channels."""
    assert operation.taken is not None
    dims = len(operation.taken.shape) - 2
    layer, turned = layer_before(flow, operation)
    if turned or dims < 1 or dims > 3:
        return 0
    if layer is None:
        return dims if dims > 1 else 0
    if layer.name in CONVOLUTIONS:
        return dims if CONVOLUTIONS[layer.name] == dims else 0
    # A linear layer whose output is made into an image, as in the first layer of a decoder.
    was_flat = layer.made is not None and len(layer.made.shape) == 2
    return dims if was_flat and dims > 1 else 0
