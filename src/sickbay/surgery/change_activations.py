"""Changing activations: new modules before, after or in place of them."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.errors import Declined
from sickbay.model_copies import same_results
from sickbay.surgery.activation_sites import Site, sites
from sickbay.surgery.edit_graph import add_parts, edit, raise_dropout
from sickbay.surgery.forward_pass import Flow, Operation
from sickbay.surgery.new_modules import Change
from sickbay.surgery.rewrite_forward import rewrite
from sickbay.surgery.torch_names import MODULES, TRANSFORMERS, from_torch, title
from sickbay.surgery.trace_module import activation_nodes, kind_of, named, trace

Graphs = tuple[fx.Graph, fx.Graph]
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")

FUNCTIONS: dict[type[nn.Module], Any] = {
    nn.SELU: F.selu,
    nn.ReLU: F.relu,
    nn.LeakyReLU: F.leaky_relu,
    nn.ELU: F.elu,
    nn.Tanh: torch.tanh,
    nn.GELU: F.gelu,
    nn.SiLU: F.silu,
}


class Surgeon:
    """Makes changes to the activations of a model, all or none.

    Args:
        model: A copy, which is changed.
        example: Its inputs, which a traced module is tried on.
        flow: What happens in the model.
    """

    def __init__(self, model: nn.Module, example: tuple[Any, ...], flow: Flow) -> None:
        self.model, self.example, self.flow = model, example, flow

    def apply(self, changes: Mapping[int, Change]) -> None:
        """Change activations, given by the index of their operation."""
        rewrites: dict[str, dict[int, Change]] = {}
        for site in sites(self.flow):
            wanted = {changes.get(each.index) for each in site.calls}
            change = wanted.pop() if len(wanted) == 1 else None
            if change is None and not wanted:
                continue
            if change is not None and site.way == "module":
                self._put(site.path, change)
            elif change is not None and site.way == "transformer":
                self._put(f"{site.path}.activation", change)
            else:
                for owner, place, each in self._by_call(site, changes):
                    rewrites.setdefault(owner, {})[place] = each
        graphs = self._traced(rewrites)
        for owner, edits in rewrites.items():
            self._rewrite(owner, edits, graphs[owner])

    def _by_call(self, site: Site, changes: Mapping[int, Change]) -> list[tuple[str, int, Change]]:
        """Return the changes of a site by the line of code that calls it."""
        found: dict[tuple[str, int], Change | None] = {}
        for each in site.calls:
            change = changes.get(each.index)
            if found.setdefault((each.owner, each.place), change) != change:
                raise Declined(
                    f"{site.name!r} is used several times, with different sizes or purposes."
                )
        return [(*place, change) for place, change in found.items() if change is not None]

    def _put(self, path: str, change: Change) -> None:
        """Change an activation module, under its old name."""
        owner_path, _, name = path.rpartition(".")
        owner = self.model.get_submodule(owner_path)
        if isinstance(owner, TRANSFORMERS) and name == "activation":
            self._put_in_transformer(owner, change)
        else:
            owner.add_module(name, _whole(getattr(owner, name), change, owner.training))

    def _put_in_transformer(self, layer: nn.Module, change: Change) -> None:
        """Change the activation of a transformer layer; its fast path knows ReLU and GELU only."""
        old = layer._modules.pop("activation", None) or layer.__dict__.pop("activation")
        if change.instead and not (change.before or change.after):
            new = layer.__dict__["activation"] = FUNCTIONS[change.instead.kind]
            known = {F.relu: 1, F.gelu: 2}.get(new, 0)
        elif isinstance(layer, nn.TransformerDecoderLayer):
            raise Declined("Torch forgets the activation of a decoder layer if it is a module.")
        else:
            kept = old if isinstance(old, nn.Module) else _Function(old)
            layer.add_module("activation", _whole(kept, change, layer.training))
            known = 0
        layer.activation_relu_or_gelu = known  # type: ignore[assignment]
        for module in self.model.modules():
            if isinstance(module, nn.TransformerEncoder) and layer in module.layers and not known:
                module.use_nested_tensor = False

    def raise_dropout(self, owners: Collection[str], p: float, most: float) -> bool:
        """Raise the p of every `F.dropout` in the code of some modules; tell if there was room."""
        raised = False
        for owner, graphs in self._traced(owners).items():
            for node in (each for graph in graphs for each in graph.nodes):
                if node.op == "call_function" and title(node.target) in DROPOUTS:
                    raised |= raise_dropout(node, p, most)
            rewrite(self.model.get_submodule(owner), *graphs)
        return raised

    def _rewrite(self, owner: str, edits: Mapping[int, Change], graphs: Graphs) -> None:
        """Change activations in the code of a module."""
        module = self.model.get_submodule(owner)
        nodes = [self._nodes(graph, module, owner) for graph in graphs]
        for place, change in sorted(edits.items()):
            names = add_parts(module, change)
            for each in nodes:
                edit(each[place], module, change, names)
        rewrite(module, *graphs)

    def _traced(self, owners: Collection[str]) -> dict[str, Graphs]:
        """Return the graphs of modules in training and in evaluation, which do what these do."""
        found: dict[str, Graphs] = {}
        for owner in owners:
            module = self.model.get_submodule(owner)
            if from_torch(type(module)) and not isinstance(module, nn.Sequential):
                raise Declined(f"{named(self.model, owner)} is torch's own code.")
            settled = self.flow.settled.get(owner, {})
            found[owner] = (
                trace(self.model, owner, settled, training=True),
                trace(self.model, owner, settled, training=False),
            )
        if found:
            self._try_out(found)
        return found

    def _try_out(self, graphs: Mapping[str, Graphs]) -> None:
        trial = copy.deepcopy(self.model)
        for owner, each in graphs.items():
            rewrite(trial.get_submodule(owner), *each)
        if not same_results(self.model, trial, self.example):
            names = ", ".join(repr(owner) if owner else "the model" for owner in graphs)
            raise Declined(f"The code of {names} does something else when it is traced.")

    def _nodes(self, graph: fx.Graph, module: nn.Module, owner: str) -> list[fx.Node]:
        """Return the activation steps of a graph, which must be those that were seen."""
        nodes = activation_nodes(graph, module)
        prefix = f"{owner}." if owner else ""
        traced = [kind_of(node, module) for node in nodes]
        seen: dict[int, str] = {}
        for each in self.flow.activations():
            if each.owner == owner:
                seen[each.place] = _kind(each, prefix)
        if traced != [seen[place] for place in sorted(seen)]:
            raise Declined(f"{named(self.model, owner)} takes different ways through its code.")
        return nodes


class _Function(nn.Module):
    """An activation function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def _whole(old: nn.Module, change: Change, training: bool) -> nn.Module:
    """Return what comes in the place of an activation module."""
    new = old if change.instead is None else change.instead.build(training)
    if hasattr(new, "inplace"):
        setattr(new, "inplace", getattr(old, "inplace", False))  # noqa: B010
    around = [part.build(training) if part else None for part in (change.before, change.after)]
    parts = [each for each in (around[0], new, around[1]) if each is not None]
    return parts[0] if len(parts) == 1 else nn.Sequential(*parts).train(training)


def unshare(model: nn.Module) -> None:
    """Give each name its own activation module, so that one can be changed without the other."""
    seen: set[nn.Module] = set()
    for parent in list(model.modules()):
        for name, child in list(parent._modules.items()):
            if isinstance(child, MODULES) and not list(child.parameters()):
                if child in seen:
                    child = copy.deepcopy(child)
                    parent._modules[name] = child
                seen.add(child)


def _kind(operation: Operation, prefix: str) -> str:
    return operation.path.removeprefix(prefix) if operation.is_module else operation.name
