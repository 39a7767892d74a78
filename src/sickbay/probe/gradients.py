"""Measure gradients: as backward leaves them, and as the optimizer is about to use them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan, sqrt
from operator import is_
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sickbay.probe.cost_clock import Clock
from sickbay.probe.dead_rows import DEAD, add_dead_rows, dead_share, has_rows
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles, weakly
from sickbay.probe.layer_order import HeldParameters, Layers
from sickbay.probe.meter import Meter
from sickbay.vitals import COLUMN, STATISTICS, Kind, Numbers, Table


@dataclass(frozen=True, eq=False)
class Rows:
    """Statistics of some gradients, with the tensors and their versions to notice changes."""

    names: tuple[str, ...]
    values: Numbers
    grads: list[Tensor]
    versions: list[int]

    def still_hold(self, names: tuple[str, ...], grads: list[Tensor]) -> bool:
        """Return whether these are the same tensors, unchanged."""
        return (
            self.names == names
            and all(map(is_, self.grads, grads))
            and self.versions == [grad._version for grad in grads]
        )


@dataclass(eq=False)
class StepGradients:
    """The gradients of one step."""

    raw: Rows | None = None  # as backward left them
    final: dict[int, Rows] = field(default_factory=dict)  # as used, by the id of the optimizer
    changed: bool = False
    arrived: bool = False  # backward left gradients
    missed: bool = False  # an optimizer looked for gradients and found none
    started_clean: bool | None = None  # whether any backward of the step began from zero
    dead_rows: list[tuple[Numbers, int, Numbers]] = field(default_factory=list)  # to be filled in

    def is_finite(self) -> bool:
        """Return whether all values that were used are finite."""
        return not any(rows.values[:, COLUMN["nonfinite"]].any() for rows in self.final.values())

    def uncleared(self) -> dict[str, float]:
        """Return whether every backward of the step added to the gradients of an earlier step."""
        return {} if self.started_clean is None else {"uncleared": float(not self.started_clean)}

    def erased(self) -> dict[str, float]:
        """Return whether backward left gradients, but the optimizer found none or only zeros."""
        if not self.arrived or not (self.missed or self.final):
            return {}
        left = self.missed if self.raw is None else _any(self.raw)
        return {"erased": float(left and not any(map(_any, self.final.values())))}

    def tables(self, step: int, scaler: bool, order: Iterable[str]) -> list[Table]:
        """Return the gradients as used, and as backward left them if that differs.

        A gradient scaler multiplies what backward leaves by its scale; those are not returned. The
        table of a step that used no gradient at all is empty.
        """
        for values, row, share in self.dead_rows:
            values[row, DEAD] = share[0]
        used = [rows for rows in self.final.values() if rows.names]
        if self.raw is not None and self.raw.names and self.raw not in used:
            used.append(self.raw)  # last: it counts only for gradients that no optimizer used
        tables = [joined("gradient", step, used, order)] if used else []
        if self.missed and not used:
            tables = [Table("gradient", step, (), np.empty((0, len(STATISTICS))))]
        if self.changed and self.raw is not None and not scaler:
            tables.append(joined("raw_gradient", step, [self.raw], order))
        return tables


class Gradients:
    """Measures the gradients of a step when backward ends.

    If they change afterwards (are clipped or unscaled), they are measured again just before the
    optimizer uses them, and the first measurement is kept as raw.
    """

    kind: Kind = "gradient"

    def __init__(
        self, layers: Layers, held: HeldParameters, guard: Guard, clock: Clock, meter: Meter
    ) -> None:
        self._layers, self._held = layers, held
        self._guard, self._clock, self._meter = guard, clock, meter
        self._handles = Handles()
        self._sentinel: nn.Parameter | None = None  # its gradient shows that backward runs
        self._queued = False
        self._step = StepGradients()
        # A late meter measures raw gradients only in loops that are known to change them.
        self._unmeasured: tuple[list[Tensor], list[int]] = ([], [])  # gradients and versions
        self._changes = not meter.late
        self.due = False
        self.wants_dead_rows = False  # of a late meter, which starts extra work for them

    def arm(self, due: bool) -> None:
        """Hook the next backward if a reading is due, else remove the hooks."""
        self.release()
        self.due = due and "gradient" not in self._guard.off
        if not self.due:
            self._unhook()
        elif not self._handles and (sentinel := self._choose_sentinel()) is not None:
            arriving = weakly(self._guard, "clearing", self._arriving)
            arrived = weakly(self._guard, "gradient", self._arrived)
            if self._held.clears(sentinel):
                self._handles.add(sentinel.register_hook(arriving))
            self._handles.add(sentinel.register_post_accumulate_grad_hook(arrived))

    def take(
        self,
        user: int,
        parameters: Mapping[str, nn.Parameter],
        scale: Tensor | float,
        unscaled: bool,
    ) -> None:
        """Measure the gradients of these parameters just before they are used.

        `unscaled` says that a gradient scaler may have changed them, which shows in no version.
        """
        step, raw = self._step, self._step.raw
        names, grads = present(parameters)
        if not names:
            step.missed = True
            return
        if raw is None and self.due:  # backward went unnoticed: use another sentinel next time
            self._unhook()
            self._sentinel = parameters[names[0]]
        if raw is not None and not unscaled and raw.still_hold(names, grads):
            step.final[user] = raw
            return
        if not self._changes:
            unmeasured, versions = self._unmeasured
            self._changes = [grad._version for grad in unmeasured] != versions
        step.changed = raw is not None
        step.final[user] = Rows(names, self._measured("gradient", grads, scale), [], [])

    def is_finite(self) -> bool:
        """Return whether all gradients used so far are finite."""
        return self._step.is_finite()

    def release(self) -> StepGradients:
        """Return the gradients of the step, and start over."""
        step, self._step, self._queued = self._step, StepGradients(), False
        self._unmeasured = [], []
        if step.raw is not None:  # a reading that waits for a device must not keep them alive
            step.raw.grads.clear()
        return step

    def close(self) -> None:
        self.arm(False)

    def _choose_sentinel(self) -> Any:
        """Return the parameter to hook, None if all are frozen.

        One is enough, and every hooked parameter costs time from then on.
        """
        if self._sentinel is None or not self._sentinel.requires_grad:
            candidates = (self._held.last() or self._layers.parameters).values()
            trained = [each for each in candidates if each.requires_grad]
            self._sentinel = trained[-1] if trained else None
        return self._sentinel

    def _unhook(self) -> None:
        if self._handles and self._sentinel is not None:
            self._handles.remove()
            if not self._sentinel._post_accumulate_grad_hooks:  # torch would keep calling those
                self._sentinel._post_accumulate_grad_hooks = None  # type: ignore[assignment]

    def _arriving(self, _grad: Tensor) -> None:
        before = None if self._sentinel is None else self._sentinel.grad
        if before is not None and self._meter.late:
            return  # looking would mean waiting for the device
        clean = before is None or before.is_sparse or not before.any()
        self._step.started_clean = clean or bool(self._step.started_clean)

    def _arrived(self, _parameter: Tensor) -> None:
        if self.due and not self._queued:
            self._queued = True
            ended = self._guard.wrap("gradient", self._backward_ended)
            torch.autograd.Variable._execution_engine.queue_callback(ended)

    def _backward_ended(self) -> None:
        self._queued = False
        if self._meter.blocked:
            return
        with self._clock.timing("gradient"):
            self._layers.learn_order()
            names, grads = present(self._layers.parameters)
            versions = [grad._version for grad in grads]
            self._step.arrived = bool(names)
            if self._changes:
                self._step.raw = Rows(names, self._measured("raw", grads), grads, versions)
            else:
                self._unmeasured = grads, versions

    def _measured(self, what: str, grads: list[Tensor], scale: Tensor | float = 1.0) -> Numbers:
        values = self._meter.measure(what, grads, scale)
        if not self._meter.late:
            add_dead_rows(grads, values)
        elif self.wants_dead_rows:
            for row, grad in enumerate(grads):
                if has_rows(grad):
                    share = self._meter.numbers(dead_share(grad))
                    self._step.dead_rows.append((values, row, share))
        return values


def _any(rows: Rows) -> bool:
    """Return whether any of these gradients is not zero."""
    return bool(rows.values[:, COLUMN["norm"]].any())


def joined(kind: Kind, step: int, parts: Sequence[Rows], order: Iterable[str]) -> Table:
    """Return one table of several parts; the first one that has a name counts."""
    if len(parts) == 1:
        return Table(kind, step, parts[0].names, parts[0].values)
    rows: dict[str, Numbers] = {}
    for part in parts:
        for name, row in zip(part.names, part.values, strict=True):
            rows.setdefault(name, row)
    return Table.ordered(kind, step, rows, order)


def present(parameters: Mapping[str, nn.Parameter]) -> tuple[tuple[str, ...], list[Tensor]]:
    """Return the names and gradients of those parameters that have one."""
    grads = {name: grad for name, each in parameters.items() if (grad := each.grad) is not None}
    return tuple(grads), list(grads.values())


def table_norm(table: Table, held: Collection[str]) -> float:
    """Return the norm of the rows that an optimizer holds, NaN if any value is not finite."""
    pairs = zip(table.names, table.column("norm").tolist(), strict=True)
    squares = [norm * norm for name, norm in pairs if not held or name in held]
    return sqrt(sum(squares)) if table.is_finite else nan
