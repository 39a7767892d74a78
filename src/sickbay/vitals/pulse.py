"""The global gradient norm, at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import inf, sqrt

import torch
from torch import Tensor, nn

from sickbay.readings import Table

FEW = 6  # up to here numpy is faster than torch
RESTLESS = 8.0  # a norm that changed by more than this factor makes the pulse read all of them


class Pulse:
    """Follows the norm of the gradients of all parameters.

    With a `breadth` below their number each step reads only that many, in turn, and the others
    count with what they had last: on a tiny model reading all would cost more than is allowed.
    When one is far off its last value, all are read at once.
    """

    def __init__(self) -> None:
        self.breadth: float = inf
        self.reads = 0  # norms read so far
        self.restless = False  # whether the last look was far off the one before
        self._parameters: Mapping[str, nn.Parameter] = {}
        self._names: list[str] = []
        self._squares: dict[str, float] = {}
        self._turn = 0

    def take(self, parameters: Mapping[str, nn.Parameter], scale: float = 1.0) -> float:
        """Return the norm over `parameters` and all that were taken before."""
        self.restless = False
        if self.breadth < len(parameters) <= len(self._squares):
            if parameters is not self._parameters:
                self._parameters, self._names = parameters, list(parameters)
            names, start = self._names, self._turn
            stop = start + int(self.breadth)
            self._turn = stop if stop < len(names) else 0
            self._read(names[start:stop], parameters, scale)
            if self.restless:
                self._read(names, parameters, scale)
        else:
            self._read(list(parameters), parameters, scale)
        return sqrt(sum(self._squares.values()))

    def note(self, table: Table) -> None:
        """Take over the norms of a full table."""
        norms = table.column("norm").tolist()
        self._squares.update(
            (name, norm * norm) for name, norm in zip(table.names, norms, strict=True)
        )

    def _read(
        self, names: Sequence[str], parameters: Mapping[str, nn.Parameter], scale: float
    ) -> None:
        squares, there, grads = self._squares, [], []
        for name in names:
            grad = parameters[name].grad
            if grad is None:
                squares[name] = 0.0
            else:
                there.append(name)
                grads.append(grad)
        self.reads += len(there)
        for name, norm in zip(there, norms(grads), strict=True):
            square = norm * norm * scale * scale
            before = squares.get(name, square)
            limit = RESTLESS * RESTLESS
            if not (square <= limit * before and before <= limit * square):  # also for NaN
                self.restless = True
            squares[name] = square


def norms(tensors: list[Tensor]) -> list[float]:
    """Return the l2 norm of each tensor."""
    if len(tensors) < FEW and all(each.dtype is torch.float32 for each in tensors):
        with suppress(TypeError, RuntimeError):  # on another device, sparse, part of a graph
            return [sqrt(each.dot(each)) for each in [each.numpy().ravel() for each in tensors]]
    if any(each.is_sparse or each.requires_grad for each in tensors):
        tensors = [
            each.coalesce().values() if each.is_sparse else each.detach() for each in tensors
        ]
    return (
        [norm.item() for norm in torch._foreach_norm(tensors, 2, torch.float32)] if tensors else []
    )
