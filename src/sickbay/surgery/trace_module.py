"""The code of one module as a graph, its children being single steps of it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import Any

from torch import fx, nn

from sickbay.errors import Declined
from sickbay.surgery.rewrite_forward import traced_name
from sickbay.surgery.torch_names import ACTIVATIONS, MODULES, title


def trace(
    model: nn.Module, path: str, settled: Mapping[str, bool | None], *, training: bool
) -> fx.Graph:
    """Return the graph of one module of the model in training or in evaluation, or decline.

    The trace runs the module's own code on a copy, since that code may write into the module.
    """
    module = copy.deepcopy(model.get_submodule(path))
    module.training = training
    before = _state(module)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = _Tracer(settled, traced_name(module, training)).trace(module)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise Declined(f"{named(model, path)} cannot be traced: {reason}") from error
    if any(name.startswith("_tensor_constant") for name in vars(module)):
        raise Declined(f"{named(model, path)} makes tensors of its own, which cannot be traced.")
    if _state(module) != before:
        raise Declined(f"{named(model, path)} writes to itself in its forward.")
    for node in graph.nodes:
        node.type = None  # annotations may be names that the written code does not know
    return graph


def activation_nodes(graph: fx.Graph, module: nn.Module) -> list[fx.Node]:
    """Return the steps that are activations, functions and modules."""
    return [node for node in graph.nodes if kind_of(node, module)]


def kind_of(node: fx.Node, module: nn.Module) -> str:
    """Return the name of the function or child that an activation step calls, "" if it is none."""
    if node.op == "call_module":
        child = module.get_submodule(str(node.target))
        return str(node.target) if isinstance(child, MODULES) else ""
    name = title(node.target) if node.op in ("call_function", "call_method") else ""
    return name if name in ACTIVATIONS else ""


class _Tracer(fx.Tracer):
    # Else a buffer's values at this moment would become a part of the code.
    proxy_buffer_attributes = True

    def __init__(self, settled: Mapping[str, bool | None], traced_func_name: str) -> None:
        super().__init__()
        self._settled, self.traced_func_name = settled, traced_func_name

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002
        return True

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """Put in the arguments that are settled, and have the code check that they still are."""
        function, args = super().create_args_for_root(root_fn, is_module, concrete_args)
        for index, arg in enumerate(args):
            if isinstance(arg, fx.Proxy) and arg.node.target in self._settled:
                value = self._settled[str(arg.node.target)]
                self.create_node("call_function", must_be, (arg.node, value), {})
                args[index] = value
        return function, args


def must_be(given: Any, value: bool | None) -> None:
    """Raise an error if an argument is not what the code was traced with."""
    if given is not value:
        raise ValueError(f"The argument must be {value!r} after surgery, got {given!r}.")


def _state(module: nn.Module) -> dict[str, int]:
    """Return the identities of all that a module holds."""
    held = {**module._parameters, **module._buffers, **module._modules, **module.__dict__}
    return {name: id(value) for name, value in held.items()}


def named(model: nn.Module, path: str) -> str:
    """Return how a module is called in a reason."""
    kind = type(model.get_submodule(path)).__name__
    return f"{path!r} ({kind})" if path else f"The model ({kind})"
