"""Recording a forward pass: every operation, which module calls it, and what it works on.

The pass is watched rather than traced, so this works for any code, including code that branches
on data.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.errors import Declined
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import bare, inputs_of, tensors_in
from sickbay.printable import raising
from sickbay.surgery import torch_operations as ops


@dataclass(frozen=True)
class TensorInfo:
    """Shape, type and device of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True)
class Operation:
    """One call of a torch function."""

    index: int
    name: str
    path: str  # the innermost module it is called in
    inputs: tuple[int, ...]  # the operations that made its input tensors
    input: TensorInfo | None  # of the first input tensor
    output: TensorInfo | None  # of the first output tensor
    learned: bool  # whether parameters take part in it, or in an operation before it
    caller: str  # the module whose code calls it, or calls the activation module that it is in
    position: int = -1  # of an activation: how many came before it in this call of the caller

    @property
    def is_module(self) -> bool:
        """Whether an activation is a module rather than a function."""
        return self.path != self.caller


@dataclass
class ForwardPass:
    """All operations of one forward pass in order, and the output of the model."""

    operations: list[Operation] = field(default_factory=list)
    classes: dict[str, type[nn.Module]] = field(default_factory=dict)
    output: Any = None
    output_makers: list[int] = field(default_factory=list)  # operations; -1 if not seen
    # Arguments that were None or a bool, by module. A trace holds for these only.
    constants: dict[str, dict[str, bool | None]] = field(default_factory=dict)

    @cached_property
    def _users(self) -> dict[int, list[int]]:
        users: dict[int, list[int]] = {}
        for operation in self.operations:
            for index in set(operation.inputs):
                users.setdefault(index, []).append(operation.index)
        return users

    def before(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations that made the inputs of an operation."""
        return (self.operations[index] for index in operation.inputs)

    def after(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations that use the output of an operation."""
        return (self.operations[index] for index in self._users.get(operation.index, ()))

    def activations(self) -> list[Operation]:
        return [operation for operation in self.operations if operation.position >= 0]


def record_forward(model: nn.Module, example: tuple[Any, ...]) -> ForwardPass:
    """Run a copy of the model on the example and return what happened, or decline."""
    model, inputs = bare(model).eval(), inputs_of(example)
    recorder = _Recorder(model)
    for tensor in tensors_in(inputs):
        recorder.record("input", [], tensor)
    failure = raising(Declined, "The model cannot be run on the example")
    with failure, IsolatedRandom(), torch.no_grad(), recorder:
        output = model(*inputs)
    forward = recorder.forward
    forward.output = output
    forward.output_makers = [recorder.makers.get(id(each), -1) for each in tensors_in(output)]
    return forward


@dataclass
class _Call:
    """A module that is being called."""

    path: str
    caller: str = ""
    position: int = -1  # of an activation module, in its caller
    activations: int = 0  # that it has called so far

    def next_position(self) -> int:
        self.activations += 1
        return self.activations - 1


class _Recorder(TorchFunctionMode):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.forward = ForwardPass()
        self.makers: dict[int, int] = {}  # by the id of a tensor, which `_alive` keeps alive
        self._alive: list[Any] = []
        self._stack = [_Call("")]
        for path, module in model.named_modules():
            self.forward.classes[path] = type(module)
            module.register_forward_pre_hook(partial(self._enter, path), with_kwargs=True)
            module.register_forward_hook(self._leave)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        inputs, name = tensors_in([args, kwargs or {}]), ops.bare_name(func)
        if name == "setitem":
            self.record(name, inputs, args[0])
        elif tensors_in(output):
            self.record(name, inputs, output)
        return output

    def record(self, name: str, inputs: list[Tensor], output: Any) -> None:
        """Record an operation."""
        self._alive += [inputs, output]
        call, outputs = self._stack[-1], tensors_in(output)
        makers = tuple(self.makers[id(each)] for each in inputs if id(each) in self.makers)
        caller, position = call.path, -1
        if name in ops.ACTIVATIONS and call.position >= 0:
            caller, position = call.caller, call.position
        elif name in ops.ACTIVATIONS:
            position = call.next_position()
        operations = self.forward.operations
        learned = any(isinstance(each, nn.Parameter) for each in inputs) or any(
            operations[index].learned for index in makers
        )
        index, ends = len(operations), (_first_info(inputs), _first_info(outputs))
        operations.append(
            Operation(index, name, call.path, makers, *ends, learned, caller, position)
        )
        self.makers.update((id(each), index) for each in outputs)

    def _enter(self, path: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        call = _Call(path)
        if isinstance(module, ops.ACTIVATION_MODULES) and path:
            caller = self._stack[-1]
            call = _Call(path, caller.path, caller.next_position())
        elif not ops.is_from_torch(type(module)):
            self._note_constants(path, module, args, kwargs)
        self._stack.append(call)

    def _leave(self, _module: nn.Module, _inputs: Any, _output: Any) -> None:
        self._stack.pop()

    def _note_constants(self, path: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        """Note which arguments are None or a bool, and the same in all calls of the module."""
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        now = {
            name: value
            for name, value in bound.arguments.items()
            if value is None or isinstance(value, bool)
        }
        before = self.forward.constants.get(path, now)
        self.forward.constants[path] = {
            name: value for name, value in now.items() if before.get(name, ...) is value
        }


def _first_info(tensors: list[Tensor]) -> TensorInfo | None:
    if not tensors:
        return None
    return TensorInfo(tuple(tensors[0].shape), tensors[0].dtype, tensors[0].device)
