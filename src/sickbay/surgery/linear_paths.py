"""Where the output of a layer goes: through which operations, and into which layers."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from torch import nn
from torch.nn.modules.conv import _ConvNd

from sickbay.surgery import torch_operations as ops
from sickbay.surgery.record_forward import ForwardPass, Operation

KERNELS = ("linear", *ops.CONVOLUTIONS)  # layers that only multiply and add
POOLING = frozenset(
    f"{adaptive}avg_pool{dims}d" for adaptive in ("", "adaptive_") for dims in "123"
)
LINEAR = ops.MOVING | ops.NORMS | POOLING | {*ops.DROPOUTS, "mean", "feature_alpha_dropout"}


@dataclass(frozen=True)
class Paths:
    """What the output of an operation passes through, and where it ends."""

    through: tuple[Operation, ...]
    into: tuple[Operation, ...]  # the first operations that are not among those passed
    is_output: bool  # whether a part of it leaves the model


def paths_from(forward: ForwardPass, start: Operation, passed: Collection[str]) -> Paths:
    """Follow the output of an operation through others of these names."""
    through: dict[int, Operation] = {}
    into: dict[int, Operation] = {}
    waiting = [start]
    while waiting:
        for user in forward.after(waiting.pop()):
            if user.name not in passed:
                into[user.index] = user
            elif user.index not in through:
                through[user.index] = user
                waiting.append(user)
    ends = {start.index, *through} & set(forward.output_makers)
    return Paths(tuple(through.values()), tuple(into.values()), bool(ends))


def kernel_calls(forward: ForwardPass) -> Iterator[tuple[str, list[Operation]]]:
    """Yield the linear and convolution layers that are modules of their own, with their calls."""
    for path, kind in forward.classes.items():
        calls = [each for each in forward.operations if each.path == path and each.name in KERNELS]
        if path and calls and issubclass(kind, (nn.Linear, _ConvNd)):
            yield path, calls
