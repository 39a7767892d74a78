"""Reading gradients: as backward leaves them, and as the optimizer is about to use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, nan, sqrt

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.readings import COLUMN, Kind, Numbers, Table
from sickbay.vitals.anatomy import Anatomy
from sickbay.vitals.clock import Clock
from sickbay.vitals.guard import Guard
from sickbay.vitals.hooks import Handles
from sickbay.vitals.statistics import measure

SCALED = [COLUMN[name] for name in ("norm", "absmax", "mean", "minimum", "lower_quartile")]
SCALED += [COLUMN[name] for name in ("median", "upper_quartile", "maximum")]


class Gradients:
    """Takes the tables of gradients of a step.

    The reading is taken when backward ends. If the gradients were changed since (clipped,
    unscaled) another is taken just before the optimizer uses them, and the first is kept as raw.
    """

    def __init__(self, anatomy: Anatomy, guard: Guard, clock: Clock) -> None:
        self._anatomy, self._guard, self._clock = anatomy, guard, clock
        self._hooks = Handles()
        self._sentinel: nn.Parameter | None = None  # whose gradient tells that backward runs
        self._queued = False
        self._raw: dict[str, Numbers] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        self._final: dict[str, Numbers] = {}
        self._changed = False
        self.due = False

    def arm(self, due: bool) -> None:
        """Be ready for the next backward, or for none."""
        for rows in (self._raw, self._final, self._stamps):
            rows.clear()
        self._changed = False
        self.due = due and "gradient" not in self._guard.off
        if not self.due:
            self._hooks.remove()
        elif not self._hooks:
            watched = [self._sentinel] if self._sentinel is not None else self._trainable()
            for parameter in watched:
                self._hooks.add(parameter.register_post_accumulate_grad_hook(self._arrived))  # type: ignore[no-untyped-call]

    def take(self, names: Sequence[str], scale: float = 1.0) -> None:
        """Take the gradients of these parameters as they are now, just before they are used."""
        parameters = self._anatomy.parameters
        grads = {name: parameters[name].grad for name in names if name in parameters}
        present = {name: grad for name, grad in grads.items() if grad is not None}
        if present and all(self._stamps.get(name) == stamp(grad) for name, grad in present.items()):
            rows = {name: self._raw[name] for name in present}
        else:
            self._changed = bool(self._raw)
            rows = dict(zip(present, measure(list(present.values())), strict=True))
        self._final.update({name: unscale(row, scale) for name, row in rows.items()})
        if not self._raw:  # backward was not heard: look for a better sentinel next time
            self._forget_sentinel()

    def settle(self) -> None:
        """Take over what backward left, where no optimizer has used it since."""
        for name, row in self._raw.items():
            self._final.setdefault(name, row)

    def forget(self) -> None:
        """Drop what was taken: the step did not happen."""
        self._final.clear()
        self._raw.clear()

    def norm(self) -> float:
        """Return the global norm, NaN if any value is not finite or nothing was taken."""
        rows = self._final.values()
        if not rows or any(row[COLUMN["nonfinite"]] for row in rows):
            return nan
        return sqrt(sum(float(row[COLUMN["norm"]]) ** 2 for row in rows))

    def collect(self, step: int, scaled: bool) -> list[Table]:
        """Return the tables of the step: as used, and as backward left them if that differs."""
        tables = [self._table("gradient", step, self._final)] if self._final else []
        if self._changed and self._raw and not scaled:
            tables.append(self._table("raw_gradient", step, self._raw))
        return tables

    def close(self) -> None:
        self.arm(False)

    def _table(self, kind: Kind, step: int, rows: Mapping[str, Numbers]) -> Table:
        order = tuple(name for name in self._anatomy.parameters if name in rows)
        return Table(kind, step, order, np.stack([rows[name] for name in order]))

    def _trainable(self) -> list[nn.Parameter]:
        return [parameter for parameter in self._anatomy.parameters.values() if parameter.is_leaf]

    def _forget_sentinel(self) -> None:
        self._sentinel = None
        self._hooks.remove()

    def _arrived(self, parameter: Tensor) -> None:
        if self._queued or not self.due:
            return
        self._queued = True
        if self._sentinel is None and isinstance(parameter, nn.Parameter):
            self._sentinel = parameter
        torch.autograd.Variable._execution_engine.queue_callback(self._backward_ended)

    def _backward_ended(self) -> None:
        self._queued = False
        with self._clock.timing("gradient"):
            self._guard.run("gradient", self._take_raw)

    def _take_raw(self) -> None:
        self._anatomy.learn_order()
        present = {
            name: parameter.grad
            for name, parameter in self._anatomy.parameters.items()
            if parameter.grad is not None
        }
        self._raw = dict(zip(present, measure(list(present.values())), strict=True))
        self._stamps = {name: stamp(grad) for name, grad in present.items()}


class Pulse:
    """The global gradient norm at every step.

    With a `breadth` below the number of parameters each step reads only that many, in turn, and
    the others count with what they had last: on a tiny model even one norm a parameter would cost
    more than is allowed. A reading far off the last one of its parameter makes it read all.
    """

    RESTLESS = 8.0

    def __init__(self) -> None:
        self.breadth: float = inf
        self.read = 0  # how many were read by the last `take`
        self._squares: dict[str, float] = {}
        self._turn = 0

    def take(self, parameters: Mapping[str, nn.Parameter], scale: float = 1.0) -> float:
        """Return the norm over `parameters` and all others taken before."""
        names = list(parameters)
        if self.breadth < len(names) and len(self._squares) >= len(names):
            start = self._turn % len(names)
            chosen = (names + names)[start : start + int(self.breadth)]
            self._turn = start + len(chosen)
            if self._refresh(chosen, parameters, scale):
                self._refresh(names, parameters, scale)
        else:
            self._refresh(names, parameters, scale)
        return sqrt(sum(self._squares.values()))

    def note(self, table: Table) -> None:
        """Take over the norms of a full table."""
        self._squares = {
            name: norm * norm
            for name, norm in zip(table.names, table.column("norm").tolist(), strict=True)
        }

    def _refresh(
        self, names: Sequence[str], parameters: Mapping[str, nn.Parameter], scale: float
    ) -> bool:
        """Read some norms; return whether any is far off its last value."""
        grads = {name: parameters[name].grad for name in names}
        present = {name: grad for name, grad in grads.items() if grad is not None}
        self.read = len(present)
        restless = False
        for name, norm in zip(present, norms(list(present.values())), strict=True):
            square = (norm * scale) ** 2
            before = self._squares.get(name, square)
            limit = self.RESTLESS**2
            if not (square <= limit * before and before <= limit * square) or not isfinite(square):
                restless = True
            self._squares[name] = square
        for name in grads.keys() - present.keys():
            self._squares[name] = 0.0
        return restless


def norms(tensors: Sequence[Tensor]) -> list[float]:
    """Return the l2 norm of each tensor."""
    plain = [
        tensor.coalesce().values() if tensor.is_sparse else tensor.detach() for tensor in tensors
    ]
    return [norm.item() for norm in torch._foreach_norm(plain, 2, torch.float32)] if plain else []


def stamp(tensor: Tensor) -> tuple[int, int]:
    """Return what changes when a tensor is replaced or written to."""
    where = 0 if tensor.is_sparse else tensor.data_ptr()
    return where, tensor._version


def unscale(row: Numbers, scale: float) -> Numbers:
    """Return the statistics as if every value had been multiplied by `scale`."""
    if scale == 1.0:
        return row
    row = row.copy()
    row[SCALED] *= scale
    row[COLUMN["variance"]] *= scale * scale
    return row
