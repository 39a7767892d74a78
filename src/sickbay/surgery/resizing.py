"""A last layer of another width, as where there are more classes than outputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from sickbay.arguments import check_int, check_seed
from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of, shape_of
from sickbay.printable import error_message
from sickbay.surgery.activation_sites import closing
from sickbay.surgery.forward_pass import Flow, Operation, examine
from sickbay.surgery.torch_names import MOVING, TURNING


def resize_output(
    model: nn.Module, example: tuple[Any, ...], width: int, *, seed: int
) -> nn.Module:
    """Return a copy of the model whose last linear layer has `width` outputs, drawn anew.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        width: How many outputs.
        seed: Of the new weights, which are drawn as torch does.

    Raises:
        Declined: If the output does not come from a linear layer of its own.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 1), nn.Softmax(-1))
        >>> resize_output(model, (torch.ones(2, 3),), 4, seed=0)[0]
        Linear(in_features=3, out_features=4, bias=True)
    """
    width, seed = check_int("width", width, least=1), check_seed(seed)
    result = copy_of(model)
    flow = examine(result, example)
    path = _last_linear(flow)
    layer = result.get_submodule(path)
    _check(result, flow, path, layer)
    assert isinstance(layer, nn.Linear)
    old = layer.out_features
    if old == width:
        raise Declined(f"The last layer {path!r} has {width} outputs already.")
    try:
        _redraw(layer, width, torch.Generator().manual_seed(seed))
    except (RuntimeError, TypeError, OverflowError) as error:  # more than there is memory for
        raise Declined(
            f"The last layer cannot have {width} outputs: {error_message(error)}"
        ) from error
    return checked(result, model, example, lambda a, b: _fits(shape_of(a), shape_of(b), old, width))


def _last_linear(flow: Flow) -> str:
    found = {_layer(flow, each) for each in closing(flow)}
    if len(found) != 1 or len(flow.ends) != 1:
        raise Declined(f"The model must put out one tensor, got {shape_of(flow.output)}.")
    [last] = found
    if last.name != "linear" or not issubclass(flow.kinds[last.path], nn.Linear):
        what = f"{last.name} in {last.path!r}" if last.path else last.name
        raise Declined(f"The output must come from a linear layer, got {what}.")
    return last.path


def _layer(flow: Flow, operation: Operation) -> Operation:
    """Return the operation before activations and moving values."""
    while (operation.place >= 0 or operation.name in MOVING | TURNING) and operation.inputs:
        operation = next(flow.before(operation))
    return operation


def _check(model: nn.Module, flow: Flow, path: str, layer: nn.Module) -> None:
    calls = [each for each in flow.operations if each.path == path and each.name == "linear"]
    if len(calls) > 1:
        raise Declined(f"The last layer {path!r} is used {len(calls)} times.")
    if set(layer._parameters) != {"weight", "bias"} or hasattr(layer, "parametrizations"):
        raise Declined(f"The weight of the last layer {path!r} is computed from other parameters.")
    own = {id(each) for each in layer.parameters()}
    holders = [
        name
        for name, each in model.named_parameters(remove_duplicate=False)
        if id(each) in own and name.rpartition(".")[0] != path
    ]
    if holders:
        raise Declined(f"The last layer {path!r} shares its weight with {holders[0]!r}.")


def _redraw(layer: nn.Linear, width: int, generator: torch.Generator) -> None:
    bound = layer.in_features**-0.5
    for name, parameter in list(layer._parameters.items()):
        if parameter is not None:
            drawn = torch.empty(width, *parameter.shape[1:]).uniform_(
                -bound, bound, generator=generator
            )
            new = nn.Parameter(drawn.to(parameter), requires_grad=parameter.requires_grad)
            setattr(layer, name, new)
    layer.out_features = width


def _fits(before: Any, after: Any, old: int, width: int) -> bool:
    """Tell whether only the width of an output has changed.

    >>> _fits((5, 2), (5, 3), 2, 3), _fits((5,), (5, 3), 1, 3), _fits((5, 2), (15, 2), 2, 3)
    (True, True, False)
    """
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return False
    wide = (*before, 1) if old == 1 and before and before[-1] != 1 else before
    expected = (*wide[:-1], width)
    return after == expected or (width == 1 and after == expected[:-1])
