"""Changing the output: another activation at the end, or another width of the last layer."""

from typing import Any

import torch
from torch import Tensor, nn

from sickbay.arguments import check_choice, check_int, check_seed
from sickbay.errors import Declined, Needless
from sickbay.model_copies import checked, copy_of, shape_of
from sickbay.printable import error_message
from sickbay.surgery.edit_activations import ActivationEditor, Change, NewModule
from sickbay.surgery.find_activations import output_operations
from sickbay.surgery.record_forward import ForwardPass, Operation, record_forward
from sickbay.surgery.torch_operations import MOVING

TO: dict[str, type[nn.Module]] = {
    "linear": nn.Identity,
    "sigmoid": nn.Sigmoid,
    "softmax": nn.Softmax,
    "log_softmax": nn.LogSoftmax,
    "tanh": nn.Tanh,
    "softplus": nn.Softplus,
}
# Functions that limit values go by one name, as where the probe reads the loss.
LIMITS = ("hardtanh", "relu6", "clamp", "clip", "clamp_min", "clamp_max")


def output_activation(model: nn.Module, example: tuple[Any, ...]) -> str:
    """Return the activation function of the model's output, "linear" if there is none.

    Raises:
        Declined: If the model's output is anything but one tensor.

    >>> import torch
    >>> output_activation(nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1)), (torch.ones(2, 3),))
    'softmax'
    """
    return _name(_last_operation(record_forward(copy_of(model), example)))


def replace_output(model: nn.Module, example: tuple[Any, ...], to: str) -> nn.Module:
    """Return a copy of the model with another output activation.

    A softmax is over the last dimension, for images over the channels. If there is no activation
    yet, the new one is appended to a `Sequential`; any other model is wrapped in `WithActivation`.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        to: "linear", "sigmoid", "softmax", "log_softmax", "tanh" or "softplus".

    Raises:
        Declined: If it is so already, or cannot be done safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1))
        >>> replace_output(model, (torch.ones(2, 3),), "linear")[1]
        Identity()
    """
    check_choice("output activation", to, TO)
    editor = ActivationEditor(model, example)
    last = _last_operation(editor.forward)
    if _name(last) == to:
        raise Needless(f"The output is {to} already.")
    if last.position >= 0:
        assert last.input is not None
        editor.apply({last.index: Change(instead=_activation(to, len(last.input.shape)))})
        return editor.checked()
    changed = editor.model
    activation = _activation(to, len(editor.forward.output.shape)).build(changed.training)
    if type(changed) is nn.Sequential:
        changed.append(activation)
    else:
        changed = WithActivation(changed, activation).train(changed.training)
    return checked(changed, model, example)


def resize_output(
    model: nn.Module, example: tuple[Any, ...], width: int, *, seed: int
) -> nn.Module:
    """Return a copy of the model whose last linear layer has `width` outputs and new weights.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        width: How many outputs.
        seed: The seed of the new weights, which are drawn as torch does.

    Raises:
        Declined: If the output does not come from a linear layer of its own.

    Example:
        >>> model = nn.Sequential(nn.Linear(3, 1), nn.Softmax(-1))
        >>> resize_output(model, (torch.ones(2, 3),), 4, seed=0)[0]
        Linear(in_features=3, out_features=4, bias=True)
    """
    width, seed = check_int("width", width, least=1), check_seed(seed)
    result = copy_of(model)
    forward = record_forward(result, example)
    path = _last_linear(forward)
    layer = result.get_submodule(path)
    _check_alone(result, forward, path, layer)
    assert isinstance(layer, nn.Linear)
    old = layer.out_features
    if old == width:
        raise Needless(f"The last layer {path!r} has {width} outputs already.")
    try:
        _redraw(layer, width, torch.Generator().manual_seed(seed))
    except (RuntimeError, TypeError, OverflowError) as error:  # more than there is memory for
        reason = error_message(error)
        raise Declined(f"The last layer cannot have {width} outputs: {reason}") from error
    return checked(result, model, example, lambda a, b: _fits(shape_of(a), shape_of(b), old, width))


class WithActivation(nn.Module):
    """A model with an activation after it."""

    def __init__(self, model: nn.Module, activation: nn.Module) -> None:
        super().__init__()
        self.model, self.activation = model, activation

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.activation(self.model(*args, **kwargs))


def _name(last: Operation) -> str:
    if last.position < 0:
        return "linear"
    return "clamp" if last.name in LIMITS else last.name


def _last_operation(forward: ForwardPass) -> Operation:
    if not isinstance(forward.output, Tensor):
        got = type(forward.output).__name__
        raise Declined(f"The model must output one tensor, got a {got}.")
    found = output_operations(forward)
    if not found:
        raise Declined("The operation that makes the model's output cannot be seen.")
    return found[0]


def _activation(to: str, dims: int) -> NewModule:
    return NewModule(TO[to], (1 if dims == 4 else -1,) if "softmax" in to else ())


def _last_linear(forward: ForwardPass) -> str:
    found = output_operations(forward)
    if len(found) != 1 or len(forward.output_makers) != 1:
        raise Declined(f"The model must output one tensor, got {shape_of(forward.output)}.")
    [last] = found
    while (last.position >= 0 or last.name in MOVING) and last.inputs:
        last = next(forward.before(last))
    if last.name != "linear" or not issubclass(forward.classes[last.path], nn.Linear):
        what = f"{last.name} in {last.path!r}" if last.path else last.name
        raise Declined(f"The output must come from a linear layer, got {what}.")
    return last.path


def _check_alone(model: nn.Module, forward: ForwardPass, path: str, layer: nn.Module) -> None:
    """Decline unless the layer is used once, and its weights are its own."""
    calls = [each for each in forward.operations if each.path == path and each.name == "linear"]
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
            values = torch.empty(width, *parameter.shape[1:])
            values.uniform_(-bound, bound, generator=generator)
            new = nn.Parameter(values.to(parameter), requires_grad=parameter.requires_grad)
            setattr(layer, name, new)
    layer.out_features = width


def _fits(before: Any, after: Any, old: int, width: int) -> bool:
    """Return whether only the width of an output has changed.

    >>> _fits((5, 2), (5, 3), 2, 3), _fits((5,), (5, 3), 1, 3), _fits((5, 2), (15, 2), 2, 3)
    (True, True, False)
    """
    if not isinstance(before, tuple) or not isinstance(after, tuple):
        return False
    wide = (*before, 1) if old == 1 and before and before[-1] != 1 else before
    expected = (*wide[:-1], width)
    return after == expected or (width == 1 and after == expected[:-1])
