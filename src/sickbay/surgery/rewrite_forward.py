"""Giving a module a new forward, written as Python from traced graphs.

The module gets a subclass of its own class, as in `torch.nn.utils.parametrize`. So it keeps its
name, methods, parameters and hooks, and is copied and pickled as before.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import fx, nn

NAMES = "_forward_training", "_forward_evaluation"


@dataclass(frozen=True)
class Code:
    """The text of a function, and the values of its global names."""

    text: str
    names: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, graph: fx.Graph) -> Code:
        written = graph.python_code("self")
        # A module of Python cannot be pickled, but its name can.
        names = {
            key: _ImportedModule(value.__name__) if isinstance(value, ModuleType) else value
            for key, value in written.globals.items()
        }
        return cls(written.src, tuple(names.items()))

    def function(self) -> Callable[..., Any]:
        names: dict[str, Any] = {
            key: importlib.import_module(value.name)
            if isinstance(value, _ImportedModule)
            else value
            for key, value in self.names
        }
        exec(compile(self.text, "<sickbay.surgery>", "exec"), names)
        function: Callable[..., Any] = names["forward"]
        return function


@dataclass(frozen=True)
class _ImportedModule:
    name: str


def rewrite_forward(module: nn.Module, training: fx.Graph, evaluation: fx.Graph) -> None:
    """Make a module run one graph in training and another in evaluation."""
    base = getattr(type(module), "_written_from", type(module))
    module.__class__ = _subclass(base, Code.of(training), Code.of(evaluation))


def traced_name(module: nn.Module, training: bool) -> str:
    """Return the name of the method that holds the module's code in a mode."""
    if hasattr(type(module), "_written_from"):
        return NAMES[0] if training else NAMES[1]
    return "forward"


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
