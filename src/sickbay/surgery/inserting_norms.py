"""Inserting norms, as in a network whose signals shrink or grow from layer to layer."""

from __future__ import annotations

from typing import Any

from torch import nn

from sickbay.errors import Declined
from sickbay.surgery.edit_activations import ActivationEditor, Change, NewModule
from sickbay.surgery.find_activations import is_normalised, layer_before
from sickbay.surgery.record_forward import ForwardPass, Operation
from sickbay.surgery.torch_operations import CONVOLUTIONS, SEQUENTIAL

BATCH_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}


def insert_normalisation(model: nn.Module, example: tuple[Any, ...]) -> nn.Module:
    """Return a copy of the model with a norm before each hidden activation that has none.

    After convolutions and linear layers this is a batch norm. It is a layer norm in sequences, in
    code that runs several times, and if the example is a batch of one. An activation module becomes
    `Sequential(norm, activation)` under its old name.

    Raises:
        Declined: If no norm is missing, or it cannot be inserted safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        >>> [type(each).__name__ for each in insert_normalisation(model, (torch.ones(2, 3),))[1]]
        ['BatchNorm1d', 'Tanh']
    """
    editor = ActivationEditor(model, example)
    forward, calls = editor.forward, editor.editable_calls()
    norms = {call.index: _norm(forward, call) for call in calls if not is_normalised(forward, call)}
    changes = {index: Change(before=norm) for index, norm in norms.items() if norm is not None}
    if not changes:
        raise Declined(_why_nothing(len(calls), len(norms)))
    editor.apply(changes)
    return editor.checked()


def channel_dims(forward: ForwardPass, operation: Operation) -> int:
    """Return how many dimensions follow the channels of an input; 0 if it has no channels."""
    assert operation.input is not None
    dims = len(operation.input.shape) - 2
    layer, transposed = layer_before(forward, operation)
    if transposed or dims < 1 or dims > 3:
        return 0
    if layer is None:
        return dims if dims > 1 else 0
    if layer.name in CONVOLUTIONS:
        return dims if CONVOLUTIONS[layer.name] == dims else 0
    # A linear layer whose output is made into an image, as in the first layer of a decoder.
    was_flat = layer.output is not None and len(layer.output.shape) == 2
    return dims if was_flat and dims > 1 else 0


def _norm(forward: ForwardPass, activation: Operation) -> NewModule | None:
    """Return the norm that fits the input of an activation, None if a norm would erase it."""
    info = activation.input
    if info is None or not info.dtype.is_floating_point:
        return None
    shape, dims = info.shape, channel_dims(forward, activation)
    place = activation.caller, activation.position
    options = info.device, info.dtype, place
    calls = sum((each.caller, each.position) == place for each in forward.activations())
    # A batch norm learns one level for all its calls, and needs several samples for it.
    in_batches = len(shape) > 1 and shape[0] > 1 and calls == 1
    if dims:
        if in_batches:
            return NewModule(BATCH_NORMS[dims], (shape[1],), *options)
        return NewModule(nn.GroupNorm, (1, shape[1]), *options) if max(shape[1:]) > 1 else None
    layer, _ = layer_before(forward, activation)
    in_sequence = layer is not None and layer.name in SEQUENTIAL
    if len(shape) == 2 and in_batches and not in_sequence:
        return NewModule(nn.BatchNorm1d, (shape[1],), *options)
    # The layer norm of a single number is zero, whatever the number.
    return NewModule(nn.LayerNorm, (shape[-1],), *options) if shape and shape[-1] > 1 else None


def _why_nothing(activations: int, without_norm: int) -> str:
    if not activations:
        return "There is no hidden activation that a norm could come before."
    if not without_norm:
        return "There is a norm before every hidden activation already."
    return "The signals before the hidden activations are too narrow for a norm."
