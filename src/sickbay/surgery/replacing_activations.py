"""Replacing hidden activations, as in networks of sigmoids whose gradients vanish."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from sickbay.arguments import bad_argument, check_choice
from sickbay.errors import Needless
from sickbay.surgery.edit_activations import MODULES, ActivationEditor, Change, NewModule
from sickbay.surgery.find_activations import Activation, layer_before
from sickbay.surgery.record_forward import ForwardPass


def replace_activations(
    model: nn.Module,
    example: tuple[Any, ...],
    to: str,
    *,
    layers: Sequence[str] | None = None,
) -> nn.Module:
    """Return a copy of the model with other hidden activations.

    Gates and the output activation stay.

    Args:
        model: The model, which is not touched.
        example: The arguments of one call.
        to: "selu", "relu", "leaky_relu", "elu", "tanh", "gelu" or "silu".
        layers: Only activations of these names, inside these modules or fed by these layers.

    Raises:
        Declined: If there is nothing to replace, or it cannot be done safely.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
        >>> [type(each).__name__ for each in replace_activations(model, (torch.ones(2, 3),), "elu")]
        ['Linear', 'ELU', 'Linear', 'Sigmoid']
    """
    check_choice("activation", to, MODULES)
    if layers is not None and (isinstance(layers, str) or not isinstance(layers, Sequence)):
        raise bad_argument("layers", "a list of names", layers)
    editor = ActivationEditor(model, example)
    hidden = editor.hidden()
    chosen = _select(editor.forward, [activation for activation, _ in hidden], layers)
    recurrent = [each for each in chosen if each.held_as == "recurrent"]
    changes = {
        call.index: Change(instead=NewModule(MODULES[to]))
        for activation, calls in hidden
        if activation in chosen and activation.held_as != "recurrent"
        for call in calls
        if call.name != to
    }
    changed = [_change_recurrent(editor.model, each, to) for each in recurrent]
    if not changes and not any(changed):
        raise Needless(_why_nothing(chosen, recurrent, to))
    editor.apply(changes)
    return editor.checked()


def _select(
    forward: ForwardPass, found: list[Activation], layers: Sequence[str] | None
) -> list[Activation]:
    if layers is None:
        return found
    known = [*forward.classes, *(each.name for each in found)]
    for name in layers:
        check_choice("layer", name, known)
    return [each for each in found if any(_belongs(forward, each, name) for name in layers)]


def _belongs(forward: ForwardPass, activation: Activation, name: str) -> bool:
    """Return whether a name is that of an activation, a module around it or the layer before it."""
    if name in ("", activation.name) or activation.name.startswith(f"{name}."):
        return True
    layers = [layer_before(forward, call)[0] for call in activation.calls]
    return any(layer is not None and layer.path == name for layer in layers)


def _change_recurrent(model: nn.Module, activation: Activation, to: str) -> bool:
    """Change the activation of torch's plain recurrent layer, which knows tanh and ReLU only."""
    if to not in ("tanh", "relu") or activation.kind == to:
        return False
    layer = model.get_submodule(activation.path)
    layer.nonlinearity = to  # type: ignore[assignment]
    if isinstance(layer, nn.RNN):
        layer.mode = f"RNN_{to.upper()}"
    return True


def _why_nothing(chosen: list[Activation], recurrent: list[Activation], to: str) -> str:
    if not chosen:
        return "There is no hidden activation to replace."
    if recurrent and to not in ("tanh", "relu"):
        return f"A recurrent layer can use tanh or relu, not {to}."
    return f"The hidden activations are {to} already."
