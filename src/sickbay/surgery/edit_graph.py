"""The code of one module as a graph: tracing it, editing its activations, and writing it back.

The graph holds what the module's own `forward` does. Its children are single steps.

The module gets a subclass of its own class, as in `torch.nn.utils.parametrize`. So it keeps its
name, methods, parameters and hooks, and is copied and pickled as before.
"""

from __future__ import annotations

import copy
import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import fx, nn

from sickbay.errors import Declined
from sickbay.surgery import torch_operations as ops

NAMES = "_forward_training", "_forward_evaluation"


def trace(
    model: nn.Module, path: str, constants: Mapping[str, bool | None], *, training: bool
) -> fx.Graph:
    """Return the graph of one module of the model in training or in evaluation, or decline.

    `constants` are arguments that the code may branch on. The trace runs the module's own code on
    a copy, since that code may write to the module.
    """
    module = copy.deepcopy(model.get_submodule(path))
    module.training = training
    before = _state(module)
    name = "forward"
    if hasattr(type(module), "_written_from"):
        name = NAMES[0] if training else NAMES[1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = _Tracer(constants, name).trace(module)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise Declined(f"{describe(model, path)} cannot be traced: {reason}") from error
    if any(name.startswith("_tensor_constant") for name in vars(module)):
        raise Declined(f"{describe(model, path)} makes tensors of its own, which cannot be traced.")
    if _state(module) != before:
        raise Declined(f"{describe(model, path)} writes to itself in its forward.")
    for node in graph.nodes:
        node.type = None  # annotations may be names that the written code does not know
    return graph


def describe(model: nn.Module, path: str) -> str:
    """Return a module's name and class, for a message."""
    kind = type(model.get_submodule(path)).__name__
    return f"{path!r} ({kind})" if path else f"The model ({kind})"


def activation_name(node: fx.Node, module: nn.Module) -> str:
    """Return the function or child that an activation step calls, "" for any other step."""
    if node.op == "call_module":
        child = module.get_submodule(str(node.target))
        return str(node.target) if isinstance(child, ops.ACTIVATION_MODULES) else ""
    name = ops.bare_name(node.target) if node.op in ("call_function", "call_method") else ""
    return name if name in ops.ACTIVATIONS else ""


def add_module(module: nn.Module, role: str, child: nn.Module) -> str:
    """Register a child under the name of its role, numbered if that is taken; return the name."""
    if ops.bare_name(module.__dict__.get(role)) in ops.ACTIVATIONS:
        del module.__dict__[role]  # the function was kept in an attribute of that name
    name, number = role, 1
    while hasattr(module, name):
        number += 1
        name = f"{role}_{number}"
    module.add_module(name, child)
    return name


def edit_activation(
    node: fx.Node, module: nn.Module, children: Mapping[str, str], *, replaced: bool
) -> None:
    """Call children of the module around an activation step, or in place of it.

    `children` are names by role: `norm` comes before the step, `dropout` after it, and if the step
    is `replaced`, `activation` in its place, if there is one.
    """
    graph, writes = node.graph, _writes(node, module)
    source = node.args[0] if node.args else node.kwargs["input"]
    assert isinstance(source, fx.Node)
    last = source
    with graph.inserting_before(node):
        if "norm" in children:
            last = graph.call_module(children["norm"], (last,))
            node.replace_input_with(source, last)
        if "activation" in children:
            last = graph.call_module(children["activation"], (last,))
    if not replaced:
        last = node
    users = list(node.users)
    with graph.inserting_after(node):
        if "dropout" in children:
            last = graph.call_module(children["dropout"], (last,))
    for user in users:
        user.replace_input_with(node, last)
    if writes:  # later steps saw the new values under the old name
        _redirect(source, node, last)
    if replaced:
        graph.erase_node(node)


def edit_dropout(node: fx.Node, new: Callable[[float], float]) -> bool:
    """Change the p of a step that calls `F.dropout`; tell whether it was another one before."""
    now = node.args[1] if len(node.args) > 1 else node.kwargs.get("p", 0.5)
    if not isinstance(now, float | int):
        raise Declined("A dropout whose p is computed cannot be changed.")
    if len(node.args) > 1:
        node.update_arg(1, new(now))
    else:
        node.update_kwarg("p", new(now))
    return new(now) != now


def rewrite_forward(module: nn.Module, training: fx.Graph, evaluation: fx.Graph) -> None:
    """Make a module run one graph in training and another in evaluation."""
    base = getattr(type(module), "_written_from", type(module))
    module.__class__ = _subclass(base, Code.of(training), Code.of(evaluation))


def must_be(given: Any, value: bool | None) -> None:
    """Raise an error if an argument is not what the code was traced with."""
    if given is not value:
        raise ValueError(f"The argument must be {value!r} after surgery, got {given!r}.")


class _Tracer(fx.Tracer):
    # Otherwise the values that a buffer has now would become part of the code.
    proxy_buffer_attributes = True

    def __init__(self, constants: Mapping[str, bool | None], traced_func_name: str) -> None:
        super().__init__()
        self._constants, self.traced_func_name = constants, traced_func_name

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:  # noqa: ARG002
        return True

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """Put in the constant arguments, and have the code check that they stay so."""
        function, args = super().create_args_for_root(root_fn, is_module, concrete_args)
        for index, arg in enumerate(args):
            if isinstance(arg, fx.Proxy) and arg.node.target in self._constants:
                value = self._constants[str(arg.node.target)]
                self.create_node("call_function", must_be, (arg.node, value), {})
                args[index] = value
        return function, args


def _state(module: nn.Module) -> dict[str, int]:
    """Return the identities of everything that a module holds."""
    held = {**module._parameters, **module._buffers, **module._modules, **module.__dict__}
    return {name: id(value) for name, value in held.items()}


def _writes(node: fx.Node, module: nn.Module) -> bool:
    """Return whether an activation step overwrites its input."""
    if node.op == "call_module":
        return bool(getattr(module.get_submodule(str(node.target)), "inplace", False))
    flags = [*node.args[1:], node.kwargs.get("inplace")]
    return ops.writes_in_place(node.target) or any(flag is True for flag in flags)


def _redirect(old: fx.Node, after: fx.Node, new: fx.Node) -> None:
    """Give the users of a value that come after a step another value."""
    order = {node: index for index, node in enumerate(old.graph.nodes)}
    for user in list(old.users):
        if order[user] > order[after] and user is not new:
            user.replace_input_with(old, new)


@dataclass(frozen=True)
class Code:
    """The text of a function, and the values of its global names."""

    text: str
    values: tuple[tuple[str, Any], ...]
    modules: tuple[tuple[str, str], ...]  # by their names: a module of Python cannot be pickled

    @classmethod
    def of(cls, graph: fx.Graph) -> Code:
        written = graph.python_code("self")
        modules = {
            key: value.__name__
            for key, value in written.globals.items()
            if isinstance(value, ModuleType)
        }
        values = ((key, value) for key, value in written.globals.items() if key not in modules)
        return cls(written.src, tuple(values), tuple(modules.items()))

    def function(self) -> Callable[..., Any]:
        names = dict(self.values)
        names |= {key: importlib.import_module(name) for key, name in self.modules}
        exec(compile(self.text, "<sickbay.surgery>", "exec"), names)
        function: Callable[..., Any] = names["forward"]
        return function


def _subclass(base: type[nn.Module], training: Code, evaluation: Code) -> type[nn.Module]:
    train, evaluate = training.function(), evaluation.function()

    @functools.wraps(base.forward)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return (train if self.training else evaluate)(self, *args, **kwargs)

    body = {
        "forward": forward if training.text != evaluation.text else evaluate,
        NAMES[0]: train,
        NAMES[1]: evaluate,
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__reduce_ex__": _reduce,
        "_written_from": base,
        "_written": (training, evaluation),
    }
    return type(base.__name__, (base,), body)


def _reduce(self: Any, _protocol: Any) -> tuple[Any, ...]:
    kind = type(self)
    return _rebuild, (kind._written_from, *kind._written), self.__getstate__()


def _rebuild(base: type[nn.Module], training: Code, evaluation: Code) -> nn.Module:
    kind = _subclass(base, training, evaluation)
    return kind.__new__(kind)
