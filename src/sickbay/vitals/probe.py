"""The probe: everything that is hooked into a running loop, and the readings it brings back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot, isfinite, isnan, nan
from time import perf_counter
from typing import Any

from torch import nn
from torch.optim import Optimizer

from sickbay.readings import Kind, Setup, Table
from sickbay.vitals import scaler
from sickbay.vitals.activations import Activations
from sickbay.vitals.anatomy import Anatomy
from sickbay.vitals.clock import Clock
from sickbay.vitals.gradients import Gradients, table_norm
from sickbay.vitals.guard import Guard
from sickbay.vitals.hooks import Handles
from sickbay.vitals.pulse import Canary, global_norm
from sickbay.vitals.replay import Replay
from sickbay.vitals.weights import Weights


@dataclass(frozen=True)
class Reading:
    """What the probe brings back from one turn of the loop."""

    steps: int = 0  # steps the optimizer took or was to take
    skipped: int = 0  # of them, dropped by a gradient scaler
    scalars: dict[str, float] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    alarm: bool = False  # a gradient was not finite, for the first time
    unheard: bool = False  # activations were to be read but no hook was called


class Probe:
    """Watches a model and its optimizers; `arm` says what to read next, `collect` brings it."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        guard: Guard,
        clock: Clock,
        activations: bool = True,
    ) -> None:
        self.optimizers = list(optimizers)
        self.anatomy = Anatomy(model, guard)
        self.activations = Activations(self.anatomy, guard, clock)
        self.gradients = Gradients(self.anatomy, guard, clock)
        self.weights = Weights(self.anatomy, guard)
        self.replay = Replay(self.anatomy) if activations else None
        self.quiet = False  # whether steps may pass without a reading
        self.passing_time = 0.0  # spent on those
        self._guard, self._clock = guard, clock
        self._hooks = Handles()
        self._held: dict[Optimizer, dict[str, nn.Parameter]] = {}
        self._counts = {id(optimizer): 0 for optimizer in self.optimizers}
        self._canary = Canary({})
        self._norm = nan
        self._steps = self._skipped = 0
        self._alarm = self._alarmed = self._scaled = False
        self._hold()
        for optimizer in self.optimizers:
            self._hooks.add(optimizer.register_step_pre_hook(self._before_step))
        scaler.listen(self)

    def arm(self, kinds: Collection[Kind]) -> None:
        """Be ready to read these kinds at the next step."""
        for part in (self.gradients, self.weights, self.activations):
            due = part.kind in kinds
            if due or part.due:
                part.arm(due)

    def glance(self) -> bool:
        """Tell whether there was one uneventful step, and be ready for the next one if so."""
        if self._steps != 1 or self._skipped or self._alarm:
            return False
        self._steps = 0
        return True

    def collect(self, last: int) -> Reading:
        """Return what was read since step `last`; nothing if no optimizer has made a step since."""
        if not self.optimizers:
            self._steps = 1
            self.anatomy.learn_order()
            self._read_gradients(self.anatomy.parameters, 1.0)
        if not self._steps:
            return Reading()
        step = last + self._steps
        ratio = self.weights.update_ratio()
        tables = self._gradient_tables(step)
        for part in (self.weights, self.activations, self.replay):
            if part is not None and (part.due or self._alarm):
                with self._clock.timing(part.kind):
                    table = self._guard.run(part.kind, part.collect, step)
                tables += [] if table is None else [table]
        scalars = {"grad_norm": self._norm, "update_ratio": ratio}
        reading = Reading(
            steps=self._steps,
            skipped=self._skipped,
            scalars={name: value for name, value in scalars.items() if not isnan(value)},
            tables=tables,
            alarm=self._alarm,
            unheard=self.activations.due and not any(each.kind == "activation" for each in tables),
        )
        if self._alarm:
            reading.scalars["grad_norm"] = self._norm
        self._alarmed = self._alarm or (self._alarmed and not isfinite(self._norm))
        self._steps = self._skipped = 0
        self._norm = nan
        self._alarm = self._scaled = False
        return reading

    def learning_rates(self) -> dict[str, float]:
        """Return the learning rate of every group: `lr`, then `lr_1`, `lr_2` and so on."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        return {
            f"lr_{index}" if index else "lr": float(group["lr"])
            for index, group in enumerate(groups)
            if "lr" in group
        }

    def refresh(self) -> bool:
        """Look at the model and the optimizers again; return whether anything has changed."""
        changed = self.anatomy.refresh()
        if changed or self._holdings() != self._held_ids:
            self.arm(())
            self._hold()
        return changed

    def setup(self, epochs: int | None) -> Setup:
        return Setup(
            layers=self.anatomy.layers(),
            shapes={name: tuple(each.shape) for name, each in self.anatomy.parameters.items()},
            optimizer=", ".join(type(optimizer).__name__ for optimizer in self.optimizers),
            epochs=epochs,
        )

    def close(self) -> None:
        """Take every hook away."""
        self._hooks.remove()
        scaler.forget(self)
        for part in (self.anatomy, self.activations, self.gradients, self.weights, self.replay):
            if part is not None:
                part.close()

    def before_scaler(self, optimizer: Optimizer) -> None:
        """Remember how many steps the optimizer had made."""
        self._count_before = self._counts.get(id(optimizer), -1)
        self._scaled = self._scaled or id(optimizer) in self._counts

    def after_scaler(self, optimizer: Optimizer) -> None:
        """Notice that the scaler did not let the optimizer step."""
        if self._counts.get(id(optimizer)) == self._count_before:
            self._steps += 1
            self._skipped += 1

    def _holdings(self) -> list[int]:
        return [
            id(parameter)
            for optimizer in self.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        ]

    def _hold(self) -> None:
        """Note which of the model's parameters each optimizer holds."""
        self._held_from, self._held_ids = self.anatomy.parameters, self._holdings()
        for optimizer in self.optimizers:
            held = {id(each) for group in optimizer.param_groups for each in group["params"]}
            self._held[optimizer] = {
                name: parameter
                for name, parameter in self.anatomy.parameters.items()
                if id(parameter) in held
            }

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        start = perf_counter()
        if self.quiet and not self._scaled and self._guard.run("probe", self._canary.is_alive):
            self._counts[id(optimizer)] += 1
            self._steps += 1
            self.passing_time += perf_counter() - start
            return
        charged = self._clock.total
        closure = args[1] if len(args) > 1 else kwargs.get("closure")  # the first is the optimizer
        self._guard.run("probe", self._on_step, optimizer, closure)
        self._clock.add("books", perf_counter() - start - (self._clock.total - charged))

    def _on_step(self, optimizer: Optimizer, closure: Any) -> None:
        self._counts[id(optimizer)] += 1
        if optimizer is self.optimizers[0] or not self._steps:
            self._steps += 1
        self.anatomy.learn_order()
        if self._held_from is not self.anatomy.parameters:
            self._hold()
        self._canary = Canary(self._held[optimizer])
        if closure is None:
            self._use_gradients(optimizer)
        watch_update = self.weights.due or self._alarm
        if watch_update:
            with self._clock.timing("weight"):
                self._guard.run("weight", self.weights.take, self._held[optimizer])
        if watch_update or closure is not None:
            self._expect(optimizer, closure is not None)

    def _expect(self, optimizer: Optimizer, closure: bool) -> None:
        """Be told when the step is over, this once; a hook for good would cost at every step."""

        def after(*_: Any) -> None:
            handle.remove()
            self._guard.run("probe", self._on_stepped, optimizer, closure)

        handle = optimizer.register_step_post_hook(after)

    def _on_stepped(self, optimizer: Optimizer, closure: bool) -> None:
        if closure:  # backward ran inside the step
            self._use_gradients(optimizer)
        with self._clock.timing("weight"):
            self._guard.run("weight", self.weights.updated)

    def _use_gradients(self, optimizer: Optimizer) -> None:
        """Read the gradients that the optimizer is about to use."""
        scale = 1.0
        if self._scaled:  # a fused optimizer unscales, and skips, by itself
            found_inf = getattr(optimizer, "found_inf", None)
            if found_inf is not None and float(found_inf) > 0:
                self._skipped += 1
                return
            if getattr(optimizer, "grad_scale", None) is not None:
                scale = 1.0 / float(optimizer.grad_scale)  # type: ignore[attr-defined]
        self._read_gradients(self._held[optimizer], scale)

    def _read_gradients(self, parameters: Mapping[str, nn.Parameter], scale: float) -> None:
        """Read all statistics if they are due or something is wrong, else the norm."""
        if not self.gradients.due:
            norm = self._guard.run("pulse", global_norm, parameters, scale)
            self._norm = (
                nan if norm is None else hypot(norm, 0.0 if isnan(self._norm) else self._norm)
            )
            if norm is None or isfinite(norm) or self._alarmed:
                return  # else look closer, once
        with self._clock.timing("gradient"):
            self._guard.run("gradient", self.gradients.take, parameters, scale, self._scaled)
        if not self._alarmed and not self.gradients.finite():
            self._alarm = True
            if self.replay is not None and not self.activations.due:
                with self._clock.timing("replay"):
                    self._guard.run("replay", self.replay.take)

    def _gradient_tables(self, step: int) -> list[Table]:
        if self._skipped:  # what was read belongs to a step that did not happen
            self.gradients.forget()
        if not (self.gradients.due or self._alarm):
            return []
        with self._clock.timing("gradient"):
            tables = self._guard.run("gradient", self.gradients.collect, step, self._scaled) or []
            if tables:
                self._norm = table_norm(tables[0])
        return tables
