"""Inserting norms where signals shrink or grow, and adding dropout against overfitting."""

from typing import Any

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from sickbay.arguments import check_float
from sickbay.errors import Needless
from sickbay.surgery.edit_activations import ActivationEditor, Change, NewModule
from sickbay.surgery.find_activations import is_normalised, layer_before
from sickbay.surgery.record_forward import ForwardPass, Operation
from sickbay.surgery.torch_operations import CONVOLUTIONS, DROPOUTS, SEQUENTIAL, is_from_torch

BATCH_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
DROPOUT = {0: nn.Dropout, 1: nn.Dropout1d, 2: nn.Dropout2d, 3: nn.Dropout3d}
MOST_P = 0.5


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
        raise Needless(_why_nothing(len(calls), len(norms)))
    editor.apply(changes)
    return editor.checked()


def channel_dims(forward: ForwardPass, operation: Operation) -> int:
    """Return how many dimensions follow the channels of an input; 0 if it has no channels."""
    assert operation.input is not None
    dims = len(operation.input.shape) - 2
    layer, transposed = layer_before(forward, operation)
    if transposed or dims < 1 or dims > 3:
        return 0
    if layer is not None and layer.name in CONVOLUTIONS:
        return dims if CONVOLUTIONS[layer.name] == dims else 0
    # A linear layer whose output is made into an image, as in the first layer of a decoder.
    was_flat = layer is None or (layer.output is not None and len(layer.output.shape) == 2)
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


def add_dropout(model: nn.Module, example: tuple[Any, ...], p: float) -> nn.Module:
    """Return a copy of the model with more dropout.

    Raise the dropout that is there by `p`, up to 0.5. If there is none, add some after each hidden
    activation, by whole channels after convolutions.

    Raises:
        Declined: If there is no place for it, or no room for more.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        >>> add_dropout(model, (torch.ones(2, 3),), 0.25)[1][1]
        Dropout(p=0.25, inplace=False)
    """
    p = check_float("p", p, above=0, most=MOST_P)
    editor = ActivationEditor(model, example)
    layers, callers = _dropout_layers(editor), dropout_callers(editor.forward)
    if layers or callers:
        raised = [
            editor.edit_dropout(callers, lambda now: _raised(now, p)),
            *(_raise(layer, p) for layer in layers),
        ]
        if not any(raised):
            raise Needless(f"The dropout is {MOST_P} or more already.")
        return editor.checked()
    changes = {
        call.index: Change(after=NewModule(DROPOUT[channel_dims(editor.forward, call)], (p,)))
        for call in editor.editable_calls()
    }
    if not changes:
        raise Needless("There is no hidden activation that dropout could follow.")
    editor.apply(changes)
    return editor.checked()


def _dropout_layers(editor: ActivationEditor) -> list[nn.Module]:
    """Return the layers with dropout, or those recurrent ones that could have it."""
    used = {operation.path for operation in editor.forward.operations}
    modules = [module for name, module in editor.model.named_modules() if name in used]
    found = [each for each in modules if isinstance(each, _DropoutNd)]
    stacked = [each for each in modules if isinstance(each, nn.RNNBase) and each.num_layers > 1]
    if found or any(each.dropout for each in stacked) or not editor.hidden():
        return [*found, *stacked]
    return []


def dropout_callers(forward: ForwardPass) -> list[str]:
    """Return the modules that call dropout as a function."""
    found = {operation.path for operation in forward.operations if operation.name in DROPOUTS}
    return [
        path
        for path, kind in forward.classes.items()
        if path in found and not is_from_torch(kind) and not issubclass(kind, _DropoutNd)
    ]


def _raise(layer: nn.Module, p: float) -> bool:
    name = "dropout" if isinstance(layer, nn.RNNBase) else "p"
    now = float(getattr(layer, name))
    setattr(layer, name, _raised(now, p))
    return now < MOST_P


def _raised(now: float, p: float) -> float:
    return max(now, min(now + p, MOST_P))
