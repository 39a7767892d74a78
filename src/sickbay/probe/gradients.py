"""Reading gradients: as backward leaves them, and as the optimizer is about to use them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan, sqrt
from operator import is_

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sickbay.probe.cost_clock import Clock
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import weakly
from sickbay.probe.layer_order import Layers
from sickbay.probe.meter import Meter
from sickbay.vitals import COLUMN, Kind, Numbers, Table


@dataclass(frozen=True, eq=False)
class Rows:
    """Statistics of some gradients, and what shows whether these were changed since."""

    names: tuple[str, ...]
    values: Numbers
    grads: list[Tensor]
    versions: list[int]

    def still_hold(self, names: tuple[str, ...], grads: list[Tensor]) -> bool:
        """Tell whether these are the same tensors, and nobody has written to them."""
        return (
            self.names == names
            and all(map(is_, self.grads, grads))
            and self.versions == [grad._version for grad in grads]
        )


@dataclass(eq=False)
class StepGradients:
    """The gradients of one step."""

    raw: Rows | None = None  # as backward left them
    final: dict[int, Rows] = field(default_factory=dict)  # as they were used, by who did
    changed: bool = False
    started_clean: bool | None = None  # whether any backward of the step began from zero

    def is_finite(self) -> bool:
        """Tell whether all values that were used are finite."""
        return not any(rows.values[:, COLUMN["nonfinite"]].any() for rows in self.final.values())

    def uncleared(self) -> dict[str, float]:
        """Return whether every backward of the step was added to gradients of the step before."""
        return {} if self.started_clean is None else {"uncleared": float(not self.started_clean)}

    def tables(self, step: int, scaler: bool, order: Iterable[str]) -> list[Table]:
        """Return the tables of the step: as used, and as backward left them if that differs.

        Under a gradient scaler what backward left is multiplied by its scale, and not returned.
        """
        used = [rows for rows in self.final.values() if rows.names]
        if self.raw is not None and self.raw.names and self.raw not in used:
            used.append(self.raw)  # for what no optimizer has used; it comes last, so it yields
        tables = [joined("gradient", step, used, order)] if used else []
        if self.changed and self.raw is not None and not scaler:
            tables.append(joined("raw_gradient", step, [self.raw], order))
        return tables


class Gradients:
    """Takes the tables of gradients of a step.

    The reading is taken when backward ends. If the gradients were changed since (clipped,
    unscaled) another is taken just before the optimizer uses them, and the first is kept as raw.
    """

    kind: Kind = "gradient"

    def __init__(self, layers: Layers, guard: Guard, clock: Clock, meter: Meter) -> None:
        self._layers, self._guard, self._clock, self._meter = layers, guard, clock, meter
        self._handles: list[RemovableHandle] = []
        self._sentinel: nn.Parameter | None = None  # whose gradient tells that backward runs
        self._queued = False
        self._taken = StepGradients()
        # A late meter reads what backward left only where it is known to be changed before use.
        self._left: tuple[list[Tensor], list[int]] = ([], [])  # by backward, and their versions
        self._changes = not meter.late
        self.held: Mapping[str, nn.Parameter] = {}  # the parameters that an optimizer holds
        self.due = False

    def arm(self, due: bool) -> None:
        """Be ready for the next backward, or for none."""
        self.release()
        self.due = due and "gradient" not in self._guard.off
        if not self.due:
            self._unhook()
        elif not self._handles:
            # One parameter is enough, and each that was ever hooked costs something from then on.
            if self._sentinel is None:
                self._sentinel = list((self.held or self._layers.parameters).values())[-1]
            self._handles = [
                self._sentinel.register_hook(  # type: ignore[no-untyped-call]
                    weakly(self._guard, "clearing", self._arriving)
                ),
                self._sentinel.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    weakly(self._guard, "gradient", self._arrived)
                ),
            ]

    def take(
        self,
        user: int,
        parameters: Mapping[str, nn.Parameter],
        scale: Tensor | float,
        unscaled: bool,
    ) -> None:
        """Take the gradients of these parameters as they are now, just before they are used.

        `unscaled` says that a gradient scaler was at work, which raises no version.
        """
        taken = self._taken
        raw = taken.raw
        names, grads = present(parameters)
        if not names:
            return
        if raw is None and self.due:  # backward was not heard: take a better sentinel next time
            self._unhook()
            self._sentinel = parameters[names[0]]
        if raw is not None and not unscaled and raw.still_hold(names, grads):
            taken.final[user] = raw
            return
        if not self._changes:
            left, versions = self._left
            self._changes = [grad._version for grad in left] != versions
        taken.changed = raw is not None
        taken.final[user] = Rows(names, self._meter.measure("gradient", grads, scale), [], [])

    def is_finite(self) -> bool:
        """Tell whether all values taken so far are finite."""
        return self._taken.is_finite()

    def release(self) -> StepGradients:
        """Return what was taken, and begin anew."""
        taken, self._taken, self._queued = self._taken, StepGradients(), False
        self._left = [], []
        if taken.raw is not None:  # else what is under way would keep the gradients alive
            taken.raw.grads.clear()
        return taken

    def close(self) -> None:
        self.arm(False)

    def _unhook(self) -> None:
        if self._handles and self._sentinel is not None:
            while self._handles:
                self._handles.pop().remove()
            if not self._sentinel._post_accumulate_grad_hooks:
                # Torch would go on calling an empty list.
                self._sentinel._post_accumulate_grad_hooks = None  # type: ignore[assignment]

    def _arriving(self, _grad: Tensor) -> None:
        before = None if self._sentinel is None else self._sentinel.grad
        if before is not None and self._meter.late:
            return  # to know it the device would have to be waited for
        clean = before is None or before.is_sparse or not before.any()
        self._taken.started_clean = clean or bool(self._taken.started_clean)

    def _arrived(self, _parameter: Tensor) -> None:
        if self.due and not self._queued:
            self._queued = True
            ended = self._guard.shell("gradient", self._backward_ended)
            torch.autograd.Variable._execution_engine.queue_callback(ended)

    def _backward_ended(self) -> None:
        self._queued = False
        if not self._meter.blocked:
            with self._clock.timing("gradient"):
                self._take_raw()

    def _take_raw(self) -> None:
        self._layers.learn_order()
        names, grads = present(self._layers.parameters)
        versions = [grad._version for grad in grads]
        if self._changes:
            self._taken.raw = Rows(names, self._meter.measure("raw", grads), grads, versions)
        else:
            self._left = grads, versions


def joined(kind: Kind, step: int, parts: Sequence[Rows], order: Iterable[str]) -> Table:
    """Return one table of several parts; where two have a row of a name, the first."""
    if len(parts) == 1:
        return Table(kind, step, parts[0].names, parts[0].values)
    rows: dict[str, Numbers] = {}
    for part in parts:
        for name, row in zip(part.names, part.values, strict=True):
            rows.setdefault(name, row)
    names = tuple(name for name in order if name in rows)
    return Table(kind, step, names, np.stack([rows[name] for name in names]))


def present(parameters: Mapping[str, nn.Parameter]) -> tuple[tuple[str, ...], list[Tensor]]:
    """Return the names and gradients of those parameters that have one."""
    there = [(name, grad) for name, each in parameters.items() if (grad := each.grad) is not None]
    return tuple([name for name, _ in there]), [grad for _, grad in there]


def table_norm(table: Table, held: Collection[str]) -> float:
    """Return the norm over the rows that an optimizer holds, NaN if any value is not finite."""
    pairs = zip(table.names, table.column("norm").tolist(), strict=True)
    squares = [norm * norm for name, norm in pairs if not held or name in held]
    return sqrt(sum(squares)) if table.is_finite else nan
