"""Where the activations of a model stand, and what each is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sickbay.surgery.forward_pass import Flow, Operation
from sickbay.surgery.torch_names import (
    CONVOLUTIONS,
    DENSE,
    HIDDEN,
    MOVING,
    NORMS,
    PLAIN_RECURRENT,
    SEQUENTIAL,
    TRANSFORMERS,
    TURNING,
    from_torch,
)

Way = Literal["module", "function", "transformer", "recurrent", "sealed"]
CARRYING = MOVING | TURNING | {"rsub", "sub", "neg", "dropout"}
GATING = frozenset({"mul", "multiply", "lerp", "addcmul"})


@dataclass(frozen=True)
class Site:
    """One place in the code that an activation stands at; it may be called several times.

    Attributes:
        name: The name of the module, or that of the owner and the function's.
        kind: The class or function.
        way: How it can be changed. What is sealed is inside a module of torch.
        path: The activation module, or the module in whose code the function stands.
    """

    name: str
    kind: str
    way: Way
    path: str
    calls: tuple[Operation, ...]


def sites(flow: Flow) -> list[Site]:
    """Return where activations stand, in the order of their first calls."""
    groups: dict[tuple[str, int], list[Operation]] = {}
    for each in flow.operations:
        if each.place >= 0:
            key = (each.path, -1) if each.is_module else (each.owner, each.place)
            groups.setdefault(key, []).append(each)
        elif issubclass(flow.kinds[each.path], PLAIN_RECURRENT) and each.name.startswith("rnn_"):
            groups.setdefault((each.path, -1), []).append(each)
    found: dict[str, Site] = {}
    for calls in groups.values():
        site = _site(flow, tuple(calls), taken=found)
        found[site.name] = site
    return list(found.values())


def hidden(flow: Flow, site: Site) -> list[Operation]:
    """Return the calls of a site that are hidden activations: no output, no gate."""
    if site.way == "sealed":
        return []
    if site.way == "recurrent":
        return list(site.calls)
    ends = {each.index for each in closing(flow)}
    return [
        each
        for each in site.calls
        if each.name in HIDDEN and each.index not in ends and not is_gate(flow, each)
    ]


def closing(flow: Flow) -> list[Operation]:
    """Return what makes each tensor of the output, but for moving values around."""
    return [settled_at(flow, flow.operations[index]) for index in flow.ends if index >= 0]


def settled_at(flow: Flow, operation: Operation) -> Operation:
    """Return the operation whose values these are."""
    while operation.name in MOVING | TURNING and operation.inputs:
        operation = next(flow.before(operation))
    return operation


def is_gate(flow: Flow, activation: Operation) -> bool:
    """Tell whether what an activation puts out is multiplied with another branch."""
    waiting, seen = [activation], set()
    while waiting:
        each = waiting.pop()
        for user in flow.after(each):
            if user.name in GATING:
                others = [other for other in flow.before(user) if other.index != each.index]
                if any(_is_branch(flow, other, activation) for other in others):
                    return True
            elif user.name not in CARRYING or len(user.inputs) > 1:
                continue
            if user.index not in seen and len(user.inputs) == 1:
                seen.add(user.index)
                waiting.append(user)
    return False


def layer_before(flow: Flow, operation: Operation) -> tuple[Operation | None, bool]:
    """Return the layer that feeds an operation, and whether its dimensions were swapped since."""
    waiting: list[tuple[Operation, bool]] = [(operation, False)]
    for each, turned in waiting:  # grows while it is walked: the nearest come first
        for earlier in flow.before(each):
            if earlier.name in DENSE or earlier.name in CONVOLUTIONS or earlier.name in SEQUENTIAL:
                return earlier, turned
            waiting.append((earlier, turned or earlier.name in TURNING))
        if len(waiting) > 1000:
            break
    return None, False


def is_normalised(flow: Flow, activation: Operation) -> bool:
    """Tell whether a norm comes directly before an activation."""
    earlier = next(flow.before(activation), None)
    while earlier is not None and earlier.name in MOVING | TURNING | {"dropout"}:
        earlier = next(flow.before(earlier), None)
    if earlier is None:
        return False
    return earlier.name in NORMS or "Norm" in flow.kinds[earlier.path].__name__


def _site(flow: Flow, calls: tuple[Operation, ...], taken: dict[str, Site]) -> Site:
    first = calls[0]
    kind = flow.kinds[first.path]
    if first.is_module and first.place >= 0:
        return Site(first.path, kind.__name__, "module", first.path, calls)
    if issubclass(kind, PLAIN_RECURRENT):
        return Site(first.path, first.name.split("_")[1], "recurrent", first.path, calls)
    prefix = f"{first.owner}." if first.owner else ""
    if issubclass(kind, TRANSFORMERS):
        return Site(f"{prefix}activation", first.name, "transformer", first.path, calls)
    name, number = f"{prefix}{first.name}", 1
    while name in taken or name in flow.kinds:
        number += 1
        name = f"{prefix}{first.name}_{number}"
    way: Way = "sealed" if from_torch(kind) else "function"
    return Site(name, first.name, way, first.path, calls)


def _is_branch(flow: Flow, other: Operation, activation: Operation) -> bool:
    """Tell whether a factor is a signal of its own; a mask is none, nor is a learned scale."""
    if other.made is None or not other.made.dtype.is_floating_point:
        return False
    return other.learned or other.index in _ancestors(flow, activation)


def _ancestors(flow: Flow, operation: Operation) -> set[int]:
    found: set[int] = set()
    waiting = [operation]
    while waiting:
        fresh = [each for each in flow.before(waiting.pop()) if each.index not in found]
        found.update(each.index for each in fresh)
        waiting += fresh
    return found
