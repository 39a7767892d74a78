"""What happens in a forward pass: every operation, where it stands, and what it works on.

The pass is watched, not traced: so the flow is known for any code, also what branches on data.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.errors import Declined
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import bare, inputs_of, tensors_in
from sickbay.printable import error_message
from sickbay.surgery.torch_names import ACTIVATIONS, MODULES, from_torch, title


@dataclass(frozen=True)
class Form:
    """What a tensor is like."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @classmethod
    def of(cls, tensor: Tensor) -> Form:
        return cls(tuple(tensor.shape), tensor.dtype, tensor.device)


@dataclass(frozen=True)
class Operation:
    """One call of a torch function.

    Attributes:
        path: The module it was called in, the innermost one.
        inputs: The operations that have made the tensors it takes.
        taken: The first tensor it takes, `made` the first it makes.
        learned: Whether parameters take part in it, or in what came before.
        owner: The module whose code asks for it: for an activation module, the one that calls it.
        place: For an activation: how many came before it in this call of the owner; else -1.
    """

    index: int
    name: str
    path: str
    inputs: tuple[int, ...]
    taken: Form | None
    made: Form | None
    learned: bool
    owner: str
    place: int = -1

    @property
    def is_module(self) -> bool:
        """Whether an activation is a module rather than a function."""
        return self.path != self.owner


@dataclass
class Flow:
    """All operations of one forward pass, in order, and what the model put out."""

    operations: list[Operation] = field(default_factory=list)
    kinds: dict[str, type[nn.Module]] = field(default_factory=dict)
    output: Any = None
    ends: list[int] = field(default_factory=list)  # what made the tensors of the output; -1: unseen
    # Arguments that were None or a bool, by module: what is traced holds for these only.
    settled: dict[str, dict[str, bool | None]] = field(default_factory=dict)

    @cached_property
    def _users(self) -> dict[int, list[int]]:
        users: dict[int, list[int]] = {}
        for each in self.operations:
            for index in set(each.inputs):
                users.setdefault(index, []).append(each.index)
        return users

    def before(self, operation: Operation) -> Iterator[Operation]:
        """Yield what made the tensors that an operation takes."""
        return (self.operations[index] for index in operation.inputs)

    def after(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations that take what an operation has made."""
        return (self.operations[index] for index in self._users.get(operation.index, ()))

    def activations(self) -> list[Operation]:
        return [each for each in self.operations if each.place >= 0]


def examine(model: nn.Module, example: tuple[Any, ...]) -> Flow:
    """Run a copy of the model on the example and return what happened, or decline."""
    model, inputs = bare(model).eval(), inputs_of(example)
    recorder = _Recorder(model)
    for each in tensors_in(inputs):
        recorder.note("input", [], each)
    try:
        with IsolatedRandom(), torch.no_grad(), recorder:
            output = model(*inputs)
    except Exception as error:
        raise Declined(f"The model cannot be run on the example: {error_message(error)}") from error
    flow = recorder.flow
    flow.output = output
    flow.ends = [recorder.makers.get(id(each), -1) for each in tensors_in(output)]
    return flow


@dataclass(frozen=True)
class _Call:
    """A module that is being called."""

    path: str
    number: int
    owner: str = ""
    place: int = -1  # of an activation module, in its owner


class _Recorder(TorchFunctionMode):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.flow = Flow()
        self.makers: dict[int, int] = {}  # by the id of a tensor, which stays alive in `_kept`
        self._kept: list[Any] = []
        self._stack: list[_Call] = [_Call("", 0)]
        self._count = 0
        self._places: Counter[int] = Counter()
        for name, module in model.named_modules():
            self.flow.kinds[name] = type(module)
            module.register_forward_pre_hook(_Entry(self, name), with_kwargs=True)
            module.register_forward_hook(self._leave)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        given = tensors_in([args, kwargs or {}])
        name = title(func)
        if name == "setitem":
            self.note(name, given, args[0])
        elif any(isinstance(each, Tensor) for each in tensors_in(output)):
            self.note(name, given, output)
        return output

    def note(self, name: str, given: list[Tensor], output: Any) -> None:
        """Write an operation down."""
        self._kept += [given, output]
        call, made = self._stack[-1], tensors_in(output)
        inputs = tuple(self.makers[id(each)] for each in given if id(each) in self.makers)
        owner, place = call.path, -1
        if name in ACTIVATIONS:
            in_module = call.place >= 0
            owner = call.owner if in_module else owner
            place = call.place if in_module else self._next_place(call)
        operations = self.flow.operations
        learned = any(isinstance(each, nn.Parameter) for each in given) or any(
            operations[index].learned for index in inputs
        )
        taken, done = (Form.of(each[0]) if each else None for each in (given, made))
        index = len(operations)
        operations.append(
            Operation(index, name, call.path, inputs, taken, done, learned, owner, place)
        )
        self.makers.update((id(each), index) for each in made)

    def enter(self, path: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._count += 1
        call = _Call(path, self._count)
        if isinstance(module, MODULES) and path:
            caller = self._stack[-1]
            call = _Call(path, self._count, caller.path, self._next_place(caller))
        elif not from_torch(type(module)):
            self._settle(path, module, args, kwargs)
        self._stack.append(call)

    def _leave(self, _module: nn.Module, _inputs: Any, _output: Any) -> None:
        self._stack.pop()

    def _next_place(self, call: _Call) -> int:
        self._places[call.number] += 1
        return self._places[call.number] - 1

    def _settle(self, path: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        """Note which arguments are None or a bool; those that change are not settled."""
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        now = {
            name: value
            for name, value in bound.arguments.items()
            if value is None or isinstance(value, bool)
        }
        before = self.flow.settled.get(path, now)
        self.flow.settled[path] = {
            name: value for name, value in now.items() if before.get(name, ...) is value
        }


class _Entry:
    """Tells the recorder that a module is called."""

    def __init__(self, recorder: _Recorder, path: str) -> None:
        self._recorder, self._path = recorder, path

    def __call__(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._recorder.enter(self._path, module, args, kwargs)
