"""Another output activation, as where a softmax is followed by a loss that has its own."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from sickbay.arguments import check_choice
from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of
from sickbay.surgery.activation_sites import closing
from sickbay.surgery.change_activations import Surgeon, unshare
from sickbay.surgery.forward_pass import Flow, Operation, examine
from sickbay.surgery.new_modules import Change, Part

TO: dict[str, type[nn.Module]] = {
    "linear": nn.Identity,
    "sigmoid": nn.Sigmoid,
    "softmax": nn.Softmax,
    "log_softmax": nn.LogSoftmax,
    "tanh": nn.Tanh,
}
# What limits values from one or both sides goes by one name, as in `vitals.graph`.
LIMITS = ("hardtanh", "relu6", "clamp", "clip", "clamp_min", "clamp_max")


def output_activation(model: nn.Module, example: tuple[Any, ...]) -> str:
    """Return the function that is last applied to what the model puts out; "linear" if none is.

    Raises:
        Declined: If the model puts out anything but one tensor.

    >>> import torch
    >>> output_activation(nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1)), (torch.ones(2, 3),))
    'softmax'
    """
    return name_of(_last(examine(copy_of(model), example)))


def replace_output(model: nn.Module, example: tuple[Any, ...], to: str) -> nn.Module:
    """Return a copy of the model with another output activation.

    A softmax is over the last dimension, in images over the channels. Where there is no activation
    yet, it goes to the end of a `Sequential`, and any other model is wrapped in `Finished`.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        to: "linear", "sigmoid", "softmax", "log_softmax" or "tanh".

    Raises:
        Declined: If it is so already, or cannot be done safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 2), nn.Softmax(-1))
        >>> replace_output(model, (torch.ones(2, 3),), "linear")[1]
        Identity()
    """
    check_choice("output activation", to, TO)
    result = copy_of(model)
    unshare(result)
    flow = examine(result, example)
    last = _last(flow)
    if name_of(last) == to:
        raise Declined(f"The output is {to} already.")
    if last.place < 0:
        return checked(_appended(result, _part(to, len(flow.output.shape))), model, example)
    assert last.taken is not None
    part = _part(to, len(last.taken.shape))
    Surgeon(result, example, flow).apply({last.index: Change(instead=part)})
    return checked(result, model, example)


class Finished(nn.Module):
    """A model with an activation after it."""

    def __init__(self, model: nn.Module, activation: nn.Module) -> None:
        super().__init__()
        self.model, self.activation = model, activation

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.activation(self.model(*args, **kwargs))


def name_of(last: Operation) -> str:
    """Return the name of an output activation."""
    if last.place < 0:
        return "linear"
    return "clamp" if last.name in LIMITS else last.name


def _last(flow: Flow) -> Operation:
    if not isinstance(flow.output, Tensor):
        got = type(flow.output).__name__
        raise Declined(f"The model must put out one tensor, got a {got}.")
    found = closing(flow)
    if not found:
        raise Declined("What makes the output of the model cannot be seen.")
    return found[0]


def _part(to: str, dims: int) -> Part:
    if "softmax" in to:
        return Part(TO[to], (1 if dims == 4 else -1,))
    return Part(TO[to])


def _appended(model: nn.Module, part: Part) -> nn.Module:
    activation = part.build(model.training)
    if type(model) is nn.Sequential:
        return model.append(activation)
    return Finished(model, activation).train(model.training)
