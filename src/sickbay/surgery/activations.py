"""Replacing hidden activations, as in networks of sigmoids whose gradients vanish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from sickbay.arguments import bad_argument, check_choice
from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of
from sickbay.surgery.activation_sites import Site, hidden, layer_before, sites
from sickbay.surgery.change_activations import Surgeon, unshare
from sickbay.surgery.forward_pass import Flow, examine
from sickbay.surgery.new_modules import Change, Part

TO: dict[str, type[nn.Module]] = {
    "selu": nn.SELU,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}


def hidden_activations(model: nn.Module, example: tuple[Any, ...]) -> dict[str, str]:
    """Return the classes or functions of the hidden activations by name, in forward order.

    A function is named after the module in whose `forward` it stands.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
    >>> hidden_activations(model, (torch.ones(2, 3),))
    {'1': 'Tanh'}
    """
    flow = examine(copy_of(model), example)
    return {site.name: site.kind for site in sites(flow) if hidden(flow, site)}


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
    check_choice("activation", to, TO)
    if layers is not None and (isinstance(layers, str) or not isinstance(layers, Sequence)):
        raise bad_argument("layers", "a list of names", layers)
    result = copy_of(model)
    unshare(result)
    flow = examine(result, example)
    found = _selected(flow, layers)
    recurrent = [site for site in found if site.way == "recurrent"]
    changes = {
        each.index: Change(instead=Part(TO[to]))
        for site in found
        if site.way != "recurrent" and not _is(site, to)
        for each in hidden(flow, site)
    }
    turned = _turn(result, recurrent, to)
    if not changes and not turned:
        raise Declined(_why_nothing(found, recurrent, to))
    Surgeon(result, example, flow).apply(changes)
    return checked(result, model, example)


def _selected(flow: Flow, layers: Sequence[str] | None) -> list[Site]:
    found = [site for site in sites(flow) if hidden(flow, site)]
    if layers is None:
        return found
    known = [*flow.kinds, *(site.name for site in found)]
    for name in layers:
        check_choice("layer", name, known)
    return [site for site in found if any(_belongs(flow, site, name) for name in layers)]


def _belongs(flow: Flow, site: Site, name: str) -> bool:
    """Tell whether a name is that of a site, of a module around it or of the layer before it."""
    if site.name == name or name == "" or site.name.startswith(f"{name}."):
        return True
    layers = [layer_before(flow, each)[0] for each in site.calls]
    return any(layer is not None and layer.path == name for layer in layers)


def _is(site: Site, to: str) -> bool:
    return site.kind in (to, TO[to].__name__)


def _turn(model: nn.Module, recurrent: list[Site], to: str) -> int:
    """Change what torch's plain recurrent layers use; they know tanh and ReLU only."""
    turned = [site for site in recurrent if to in ("tanh", "relu") and site.kind != to]
    for site in turned:
        layer = model.get_submodule(site.path)
        layer.nonlinearity = to  # type: ignore[assignment]
        if isinstance(layer, nn.RNN):
            layer.mode = f"RNN_{to.upper()}"
    return len(turned)


def _why_nothing(found: list[Site], recurrent: list[Site], to: str) -> str:
    if not found:
        return "There is no hidden activation to replace."
    if recurrent and to not in ("tanh", "relu"):
        return f"A recurrent layer can use tanh or relu, not {to}."
    return f"The hidden activations are {to} already."
