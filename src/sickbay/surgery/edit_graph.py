"""Editing the graph of a module, step by step."""

from __future__ import annotations

from collections.abc import Mapping

from torch import fx, nn

from sickbay.errors import Declined
from sickbay.surgery.new_modules import Change
from sickbay.surgery.torch_names import ACTIVATIONS, in_place, title


def add_parts(module: nn.Module, change: Change) -> dict[str, str]:
    """Register the new modules of a change; return their names."""
    names = {}
    for role, part in (
        ("norm", change.before),
        ("activation", change.instead),
        ("dropout", change.after),
    ):
        if part is None or part.kind is nn.Identity:
            continue
        if title(module.__dict__.get(role)) in ACTIVATIONS:
            del module.__dict__[role]  # the function was kept in an attribute of that name
        name, number = role, 1
        while hasattr(module, name):
            number += 1
            name = f"{role}_{number}"
        module.add_module(name, part.build(module.training))
        names[role] = name
    return names


def _writes(node: fx.Node, module: nn.Module) -> bool:
    """Tell whether an activation step writes over what it takes."""
    if node.op == "call_module":
        return bool(getattr(module.get_submodule(str(node.target)), "inplace", False))
    flags = [*node.args[1:], node.kwargs.get("inplace")]
    return in_place(node.target) or any(flag is True for flag in flags)


def edit(node: fx.Node, module: nn.Module, change: Change, names: Mapping[str, str]) -> None:
    """Change one activation step in the graph of a module, by parts that are registered in it."""
    graph, writes = node.graph, _writes(node, module)
    taken = node.args[0] if node.args else node.kwargs["input"]
    assert isinstance(taken, fx.Node)
    last = taken
    with graph.inserting_before(node):
        if "norm" in names:
            last = graph.call_module(names["norm"], (last,))
            node.replace_input_with(taken, last)
        if "activation" in names:
            last = graph.call_module(names["activation"], (last,))
    if change.instead is None:
        last = node
    users = list(node.users)
    with graph.inserting_after(node):
        if "dropout" in names:
            last = graph.call_module(names["dropout"], (last,))
    for user in users:
        user.replace_input_with(node, last)
    if writes:  # what came after saw the new values under the old name
        _redirect(taken, node, last)
    if change.instead is not None:
        graph.erase_node(node)


def _redirect(old: fx.Node, after: fx.Node, new: fx.Node) -> None:
    """Let the users of a value that come after a step use another value."""
    order = {node: index for index, node in enumerate(old.graph.nodes)}
    for user in list(old.users):
        if order[user] > order[after] and user is not new:
            user.replace_input_with(old, new)


def raise_dropout(node: fx.Node, p: float, most: float) -> bool:
    """Raise the p of a step that calls `F.dropout`; tell whether there was room."""
    now = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
    if not isinstance(now, float | int):
        raise Declined("A dropout whose p is computed cannot be raised.")
    raised = max(now, min(now + p, most))
    if len(node.args) > 1:
        node.update_arg(1, raised)
    else:
        node.update_kwarg("p", raised)
    return raised > now
