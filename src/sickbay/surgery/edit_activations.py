"""Changing the activations of a model: new modules before, after or in place of them."""

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.errors import Declined
from sickbay.model_copies import checked, copy_of, same_results
from sickbay.surgery import torch_operations as ops
from sickbay.surgery.edit_graph import (
    activation_name,
    add_module,
    describe,
    edit_activation,
    edit_dropout,
    rewrite_forward,
    trace,
)
from sickbay.surgery.find_activations import Activation, find_activations, hidden_calls
from sickbay.surgery.record_forward import Operation, record_forward

Graphs = tuple[fx.Graph, fx.Graph]  # in training, in evaluation

MODULES: dict[str, type[nn.Module]] = {
    "selu": nn.SELU,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}
FUNCTIONS = {kind: getattr(F, name) for name, kind in MODULES.items()}


@dataclass(frozen=True)
class NewModule:
    """A module to be built; two with different marks are two modules."""

    kind: type[nn.Module]
    args: tuple[Any, ...] = ()
    device: torch.device | None = None
    dtype: torch.dtype | None = None
    mark: tuple[str, int] | None = None

    def build(self, training: bool) -> nn.Module:
        options = {} if self.device is None else {"device": self.device, "dtype": self.dtype}
        return self.kind(*self.args, **options).train(training)


@dataclass(frozen=True)
class Change:
    """What becomes of one activation; without `instead` it stays."""

    before: NewModule | None = None
    instead: NewModule | None = None
    after: NewModule | None = None


class ActivationEditor:
    """Changes the activations of a copy of a model, all or none.

    Attributes:
        model: The copy, in which each name has an activation module of its own.
        forward: The recorded forward pass of the copy on the example.
    """

    def __init__(self, model: nn.Module, example: tuple[Any, ...]) -> None:
        self._original, self._example = model, example
        self.model = copy_of(model)
        _unshare(self.model)
        self.forward = record_forward(self.model, example)

    def hidden(self) -> list[tuple[Activation, list[Operation]]]:
        """Return the hidden activations with their calls."""
        found = find_activations(self.forward)
        return [(each, calls) for each in found if (calls := hidden_calls(self.forward, each))]

    def editable_calls(self) -> list[Operation]:
        """Return the calls of hidden activations, except those inside recurrent layers."""
        hidden = self.hidden()
        return [call for each, calls in hidden if each.held_as != "recurrent" for call in calls]

    def checked(self) -> nn.Module:
        """Return the changed copy if it still works; decline otherwise."""
        return checked(self.model, self._original, self._example)

    def apply(self, changes: Mapping[int, Change]) -> None:
        """Change activations, given by the index of their operation."""
        rewrites: dict[str, dict[int, Change]] = {}
        for activation in find_activations(self.forward):
            wanted = {changes.get(call.index) for call in activation.calls}
            change = wanted.pop() if len(wanted) == 1 else None
            if change is None and not wanted:
                continue
            if change is not None and activation.held_as == "module":
                self._replace_module(activation.path, change)
            elif change is not None and activation.held_as == "transformer":
                self._replace_module(f"{activation.path}.activation", change)
            else:
                for caller, position, each in _changes_by_code(activation, changes):
                    rewrites.setdefault(caller, {})[position] = each
        graphs = self._trace(rewrites)
        for caller, edits in rewrites.items():
            self._rewrite(caller, edits, graphs[caller])

    def edit_dropout(self, callers: Collection[str], new: Callable[[float], float]) -> bool:
        """Change the p of every `F.dropout` in the code of modules; tell if any changes."""
        changed = False
        for caller, graphs in self._trace(callers).items():
            for node in (node for graph in graphs for node in graph.nodes):
                if node.op == "call_function" and ops.bare_name(node.target) in ops.DROPOUTS:
                    changed |= edit_dropout(node, new)
            rewrite_forward(self.model.get_submodule(caller), *graphs)
        return changed

    def _replace_module(self, path: str, change: Change) -> None:
        """Change an activation module, under its old name."""
        parent_path, _, name = path.rpartition(".")
        parent = self.model.get_submodule(parent_path)
        if isinstance(parent, ops.TRANSFORMERS) and name == "activation":
            self._replace_in_transformer(parent, change)
        else:
            parent.add_module(name, _combined(getattr(parent, name), change, parent.training))

    def _replace_in_transformer(self, layer: nn.Module, change: Change) -> None:
        """Change the activation of a transformer layer; its fast path knows ReLU and GELU only."""
        old = layer._modules.pop("activation", None) or layer.__dict__.pop("activation")
        known = 0
        if change.instead and not (change.before or change.after):
            new = layer.__dict__["activation"] = FUNCTIONS[change.instead.kind]
            known = {F.relu: 1, F.gelu: 2}.get(new, 0)
        elif isinstance(layer, nn.TransformerDecoderLayer):
            raise Declined("Torch forgets the activation of a decoder layer if it is a module.")
        else:
            kept = old if isinstance(old, nn.Module) else _Function(old)
            layer.add_module("activation", _combined(kept, change, layer.training))
        layer.activation_relu_or_gelu = known  # type: ignore[assignment]
        for module in self.model.modules():
            if isinstance(module, nn.TransformerEncoder) and layer in module.layers and not known:
                module.use_nested_tensor = False

    def _rewrite(self, caller: str, edits: Mapping[int, Change], graphs: Graphs) -> None:
        """Change activations in the code of a module."""
        module = self.model.get_submodule(caller)
        nodes = [self._nodes(graph, module, caller) for graph in graphs]
        for position, change in sorted(edits.items()):
            roles = {"norm": change.before, "activation": change.instead, "dropout": change.after}
            children = {
                role: add_module(module, role, new.build(module.training))
                for role, new in roles.items()
                if new is not None and new.kind is not nn.Identity
            }
            for each in nodes:
                replaced = change.instead is not None
                edit_activation(each[position], module, children, replaced=replaced)
        rewrite_forward(module, *graphs)

    def _trace(self, callers: Collection[str]) -> dict[str, Graphs]:
        """Return graphs that do what the modules do, in training and in evaluation."""
        found: dict[str, Graphs] = {}
        for caller in callers:
            module = self.model.get_submodule(caller)
            if ops.is_from_torch(type(module)) and not isinstance(module, nn.Sequential):
                raise Declined(f"{describe(self.model, caller)} is torch's own code.")
            constants = self.forward.constants.get(caller, {})
            found[caller] = (
                trace(self.model, caller, constants, training=True),
                trace(self.model, caller, constants, training=False),
            )
        trial = copy.deepcopy(self.model)
        for caller, graphs in found.items():
            rewrite_forward(trial.get_submodule(caller), *graphs)
        if found and not same_results(self.model, trial, self._example):
            names = ", ".join(repr(caller) if caller else "the model" for caller in found)
            raise Declined(f"The code of {names} does something else when it is traced.")
        return found

    def _nodes(self, graph: fx.Graph, module: nn.Module, caller: str) -> list[fx.Node]:
        """Return the activation steps of a graph, which must be those that were recorded."""
        nodes = [node for node in graph.nodes if activation_name(node, module)]
        prefix = f"{caller}." if caller else ""
        recorded: dict[int, str] = {}
        for each in self.forward.activations():
            if each.caller == caller:
                name = each.path.removeprefix(prefix) if each.is_module else each.name
                recorded[each.position] = name
        traced = [activation_name(node, module) for node in nodes]
        if traced != [recorded[position] for position in sorted(recorded)]:
            raise Declined(
                f"{describe(self.model, caller)} does not run the same code at every call."
            )
        return nodes


class _Function(nn.Module):
    """An activation function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _changes_by_code(
    activation: Activation, changes: Mapping[int, Change]
) -> list[tuple[str, int, Change]]:
    """Return the changes of an activation by caller and position in its code."""
    found: dict[tuple[str, int], Change | None] = {}
    for call in activation.calls:
        change = changes.get(call.index)
        if found.setdefault((call.caller, call.position), change) != change:
            raise Declined(
                f"{activation.name!r} is used several times, with different sizes or purposes."
            )
    return [(*place, change) for place, change in found.items() if change is not None]


def _combined(old: nn.Module, change: Change, training: bool) -> nn.Module:
    """Return the module that replaces an activation module."""
    new = old if change.instead is None else change.instead.build(training)
    if hasattr(new, "inplace"):
        setattr(new, "inplace", getattr(old, "inplace", False))  # noqa: B010
    before = [change.before.build(training)] if change.before else []
    after = [change.after.build(training)] if change.after else []
    return nn.Sequential(*before, new, *after).train(training) if before or after else new


def _unshare(model: nn.Module) -> None:
    """Give each name its own activation module, so that one can be changed without the other."""
    seen: set[nn.Module] = set()
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if isinstance(child, ops.ACTIVATION_MODULES) and not list(child.parameters()):
                if child in seen:
                    child = copy.deepcopy(child)
                    parent._modules[name] = child
                seen.add(child)
