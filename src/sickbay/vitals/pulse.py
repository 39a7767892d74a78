"""The global gradient norm, at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, sqrt

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.readings import Table

FEW = 6  # tensors; for fewer numpy is faster than torch
SINGLE = np.dtype(np.float32)
LIMIT = 8.0**2  # if the square of a norm changes by more than this factor, all are read


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
        squares = self._squares
        grads = {name: grad for name in names if (grad := parameters[name].grad) is not None}
        if len(grads) < len(names):
            squares.update((name, 0.0) for name in names if name not in grads)
        self.reads += len(grads)
        for name, square in zip(grads, squared_norms(list(grads.values())), strict=True):
            square *= scale * scale
            before = squares.get(name, square)
            if not (square <= LIMIT * before and before <= LIMIT * square):  # also for NaN
                self.restless = True
            squares[name] = square


def squared_norms(tensors: list[Tensor]) -> list[float]:
    """Return the square of the l2 norm of each tensor."""
    if len(tensors) < FEW:
        try:
            arrays = [tensor.numpy() for tensor in tensors]
        except (TypeError, RuntimeError):  # on another device, sparse, half precision, in a graph
            arrays = []
        if arrays and all(array.dtype == SINGLE for array in arrays):
            return [float(flat.dot(flat)) for flat in [array.ravel() for array in arrays]]
    if any(each.is_sparse or each.requires_grad for each in tensors):
        tensors = [
            each.coalesce().values() if each.is_sparse else each.detach() for each in tensors
        ]
    norms = torch._foreach_norm(tensors, 2, torch.float32) if tensors else ()
    return [norm.item() ** 2 for norm in norms]
