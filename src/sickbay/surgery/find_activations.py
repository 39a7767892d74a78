"""Finding the activations of a model, and telling hidden ones from outputs and gates."""

from dataclasses import dataclass
from typing import Literal

from sickbay.surgery import torch_operations as ops
from sickbay.surgery.record_forward import ForwardPass, Operation

HeldAs = Literal["module", "function", "transformer", "recurrent", "sealed"]
CARRYING = ops.MOVING | {"rsub", "sub", "neg", "dropout"}
GATING = frozenset({"mul", "multiply", "lerp", "addcmul"})
MOST_STEPS = 1000  # operations that the search for a layer looks at


@dataclass(frozen=True)
class Activation:
    """One activation in the code of a model; it may be called several times."""

    name: str  # of the module, or of the caller and the function
    kind: str  # the class or function
    held_as: HeldAs  # a sealed one is inside a module of torch
    path: str  # the activation module, or the module whose code calls the function
    calls: tuple[Operation, ...]


def find_activations(forward: ForwardPass) -> list[Activation]:
    """Return the activations, in the order of their first calls."""
    groups: dict[tuple[str, int], list[Operation]] = {}
    for each in forward.operations:
        if each.position >= 0:
            key = (each.path, -1) if each.is_module else (each.caller, each.position)
            groups.setdefault(key, []).append(each)
        elif issubclass(forward.classes[each.path], ops.PLAIN_RECURRENT) and "rnn_" in each.name:
            groups.setdefault((each.path, -1), []).append(each)
    found: dict[str, Activation] = {}
    for calls in groups.values():
        activation = _activation(forward, tuple(calls), taken=found)
        found[activation.name] = activation
    return list(found.values())


def hidden_calls(forward: ForwardPass, activation: Activation) -> list[Operation]:
    """Return the calls of an activation that are neither an output nor a gate."""
    if activation.held_as == "sealed":
        return []
    if activation.held_as == "recurrent":
        return list(activation.calls)
    ends = {each.index for each in output_operations(forward)}
    return [
        each
        for each in activation.calls
        if each.name in ops.HIDDEN and each.index not in ends and not _is_gate(forward, each)
    ]


def output_operations(forward: ForwardPass) -> list[Operation]:
    """Return the last operation of each output tensor that does more than move values."""
    found = []
    for index in forward.output_makers:
        if index >= 0:
            operation = forward.operations[index]
            while operation.name in ops.MOVING and operation.inputs:
                operation = next(forward.before(operation))
            found.append(operation)
    return found


def layer_before(forward: ForwardPass, operation: Operation) -> tuple[Operation | None, bool]:
    """Return the layer that feeds an operation, and whether its output was transposed since."""
    waiting: list[tuple[Operation, bool]] = [(operation, False)]
    for each, transposed in waiting:  # grows while it is walked, so the nearest come first
        for earlier in forward.before(each):
            if earlier.name in ops.LAYERS:
                return earlier, transposed
            waiting.append((earlier, transposed or earlier.name in ops.TRANSPOSING))
        if len(waiting) > MOST_STEPS:
            break
    return None, False


def is_normalised(forward: ForwardPass, activation: Operation) -> bool:
    """Return whether a norm comes directly before an activation, torch's or one written by hand."""
    earlier = next(forward.before(activation), None)
    while earlier is not None and earlier.name in ops.MOVING | {"dropout"}:
        earlier = next(forward.before(earlier), None)
    if earlier is None or earlier.name in ops.NORMS:
        return earlier is not None
    inside = f"{earlier.path}."
    names = {each.name for each in forward.operations if f"{each.path}.".startswith(inside)}
    divides = bool(names & ops.NORMS or (names & ops.DIVIDING and names & ops.REDUCING))
    return divides and not names & ops.LAYERS and earlier.path != activation.caller


def _activation(
    forward: ForwardPass, calls: tuple[Operation, ...], taken: dict[str, Activation]
) -> Activation:
    first = calls[0]
    module_class = forward.classes[first.path]
    if first.is_module and first.position >= 0:
        return Activation(first.path, module_class.__name__, "module", first.path, calls)
    if issubclass(module_class, ops.PLAIN_RECURRENT):
        return Activation(first.path, first.name.split("_")[1], "recurrent", first.path, calls)
    prefix = f"{first.caller}." if first.caller else ""
    if issubclass(module_class, ops.TRANSFORMERS):
        return Activation(f"{prefix}activation", first.name, "transformer", first.path, calls)
    name, number = f"{prefix}{first.name}", 1
    while name in taken or name in forward.classes:
        number += 1
        name = f"{prefix}{first.name}_{number}"
    held_as: HeldAs = "sealed" if ops.is_from_torch(module_class) else "function"
    return Activation(name, first.name, held_as, first.path, calls)


def _is_gate(forward: ForwardPass, activation: Operation) -> bool:
    """Return whether the output of an activation is multiplied with another branch."""
    waiting, seen = [activation], set()
    while waiting:
        each = waiting.pop()
        for user in forward.after(each):
            if user.name in GATING:
                others = [other for other in forward.before(user) if other.index != each.index]
                if any(_is_branch(forward, other, activation) for other in others):
                    return True
            elif user.name not in CARRYING or len(user.inputs) > 1:
                continue
            if user.index not in seen and len(user.inputs) == 1:
                seen.add(user.index)
                waiting.append(user)
    return False


def _is_branch(forward: ForwardPass, factor: Operation, activation: Operation) -> bool:
    """Return whether a factor is a signal of its own, rather than a mask or a learned scale."""
    if factor.output is None or not factor.output.dtype.is_floating_point:
        return False
    return factor.learned or factor.index in _ancestors(forward, activation)


def _ancestors(forward: ForwardPass, operation: Operation) -> set[int]:
    found: set[int] = set()
    waiting = [operation]
    while waiting:
        new = [each for each in forward.before(waiting.pop()) if each.index not in found]
        found.update(each.index for each in new)
        waiting += new
    return found
