"""The probe: everything that is hooked into a running loop, and the readings it brings back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import hypot, inf, isfinite, isnan, nan
from time import perf_counter
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.probe import clean_copies, grad_scaler
from sickbay.probe.activations import Activations
from sickbay.probe.batch import Batch
from sickbay.probe.cost_clock import Clock
from sickbay.probe.gradient_norms import SpotCheck, gradient_norms
from sickbay.probe.gradients import Gradients, table_norm
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles
from sickbay.probe.layer_order import Layers, acts_by_mode
from sickbay.probe.locate_nan import NanLocator
from sickbay.probe.meter import Meter
from sickbay.probe.turn import Reading, Round, Turn
from sickbay.probe.weights import Weights
from sickbay.vitals import Kind, Setup, Table

JUMP = 10.0  # times its highest so far: more in a step is strange for a learning rate


class Probe:
    """Watches a model and its optimizers: `arm` says what to read, `reading` brings it."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        guard: Guard,
        clock: Clock,
        activations: bool = True,
        meter: Meter | None = None,
    ) -> None:
        self.optimizers = list(optimizers)
        self.meter = meter = meter or Meter()
        self._on_device = any(each.is_cuda for each in model.parameters())
        self.layers = Layers(model, guard)
        self.activations = Activations(self.layers, guard, clock, meter)
        self.gradients = Gradients(self.layers, guard, clock, meter)
        self.weights = Weights(guard, meter)
        self.nan_locator = NanLocator(self.layers, guard, meter) if activations else None
        self.batch = Batch(self.layers.model, self._holdings, self.nan_locator, guard, clock, meter)
        self.quiet = False  # whether steps may pass without a reading
        self.passing_time = 0.0  # spent on those
        self.guard, self._clock = guard, clock
        self._hooks = Handles()
        self._held: dict[Optimizer, dict[str, nn.Parameter]] = {}
        self._spot_check = SpotCheck()
        self._turn = Turn()
        self._alarmed = False  # something was not finite at the last reading
        self._silent: dict[int, int] = {}  # gradients that were all zero, by optimizer
        self._rate_limit = inf  # a learning rate above it has jumped
        self._expected: bool | None = None  # the end of a step; True if backward runs inside it
        self.in_eval = False  # at the last step of the optimizer, and that makes a difference
        self._has_modes = any(map(acts_by_mode, self.layers.model.modules()))
        self._hold()
        for optimizer in self.optimizers:
            before, after = guard.shell("probe", self._before_step), self._after_step
            self._hooks.add(optimizer.register_step_pre_hook(before))
            self._hooks.add(optimizer.register_step_post_hook(guard.shell("probe", after)))
        grad_scaler.listen(self)
        clean_copies.keep_clean(self)

    def arm(self, kinds: Collection[Kind]) -> None:
        """Be ready to read these kinds at the next step."""
        for part in (self.gradients, self.weights, self.activations, self.batch):
            due = part.kind in kinds
            if due or part.due:
                part.arm(due)

    def glance(self) -> bool:
        """Tell whether there was one uneventful step, and be ready for the next one if so."""
        turn = self._turn
        if turn.alarm or turn.strange or turn.skipped or turn.norms or len(turn.steps) != 1:
            return False
        for count in turn.steps.values():
            if count != 1:
                return False
        turn.steps.clear()
        return True

    def release(self, last: int) -> Round | None:
        """Return all that was taken since step `last`, None if no optimizer has made a step."""
        turn = self._turn
        if not self.optimizers:
            self._read_without_optimizer()
        if not turn.length:
            return None
        closer, locator = turn.alarm or turn.strange, self.nan_locator
        taken = Round(
            turn=turn,
            step=last + turn.length,
            gradients=self.gradients.release(),
            weights=self._released(self.weights, closer),
            activations=self._released(self.activations, closer),
            batch=self._released(self.batch, closer),
            replayed=locator.collect(last + turn.length)
            if locator is not None and closer
            else None,
            in_eval=self.in_eval,
            listened=self.activations.listens and self.layers.model.training,
        )
        self._turn = Turn()
        return taken

    def reading(self, taken: Round) -> Reading:
        """Make a reading of what was taken, once all of it is there."""
        turn, step = taken.turn, taken.step
        ratio = nan if taken.weights is None else taken.weights.update_ratio()
        scalars = {} if isnan(ratio) else {"update_ratio": ratio}
        scalars |= taken.gradients.uncleared()
        if self._has_modes:
            scalars["in_eval"] = float(taken.in_eval)
        turn.skipped += sum(bool(each.any()) for each in turn.dropped)
        tables, facts = self._gradient_tables(taken), self.batch.facts
        names = (self.layers.parameters, self.layers.modules)
        if taken.weights is not None:
            tables += self._made("weight", taken.weights.table, step, names[0])
        if taken.activations is not None:
            tables += self._made("activation", taken.activations.table, step, names[1])
            if taken.activations.compiled is not None:
                self.activations.compiled = taken.activations.compiled
        if taken.batch is not None:
            tables += self._made("batch", self.batch.table, taken.batch, step)
            scalars |= self.batch.scalars
        tables += [] if taken.replayed is None else [taken.replayed]
        if turn.norms:
            scalars["grad_norm"] = turn.norm
        self._alarmed = turn.alarm or (self._alarmed and not isfinite(turn.norm))
        return Reading(
            steps=turn.length,
            skipped=turn.skipped,
            scalars=scalars,
            tables=tables,
            alarm=turn.alarm,
            strange=turn.strange,
            unheard=taken.listened and not any(each.kind == "activation" for each in tables),
            news=self.batch.facts != facts,
        )

    def _released(self, part: Any, closer: bool) -> Any:
        """Return what a part has taken, None if it was not to take anything."""
        if not (part.due or closer):
            return None
        with self._clock.timing(part.kind):
            return self.guard.run(part.kind, part.release)

    def _made(self, kind: Kind, make: Any, *args: Any) -> list[Table]:
        with self._clock.timing(kind):
            table = self.guard.run(kind, make, *args)
        return [] if table is None else [table]

    def learning_rates(self) -> dict[str, float]:
        """Return the learning rate of every group: `lr`, then `lr_1`, `lr_2` and so on."""
        groups = [group for optimizer in self.optimizers for group in optimizer.param_groups]
        rates = {
            f"lr_{index}" if index else "lr": float(group["lr"])
            for index, group in enumerate(groups)
            if "lr" in group
        }
        self._rate_limit = JUMP * max(rates.values(), default=inf)
        return rates

    def refresh(self) -> bool:
        """Look at the model and the optimizers again; return whether anything has changed."""
        changed = self.layers.refresh()
        if changed or self._holdings() != self._held_ids:
            self.arm(())
            self._hold()
        return changed

    def setup(self, epochs: int | None) -> Setup:
        return replace(
            self.batch.facts,
            layers=self.layers.class_names(),
            shapes={name: tuple(each.shape) for name, each in self.layers.parameters.items()},
            optimizer=", ".join(type(optimizer).__name__ for optimizer in self.optimizers),
            epochs=epochs,
            unheld=self._unheld(),
            uncalled=self.layers.uncalled(),
        )

    def close(self) -> None:
        """Take every hook away."""
        self._hooks.remove()
        grad_scaler.forget(self)
        clean_copies.forget(self)
        parts = (self.layers, self.activations, self.gradients, self.weights, self.batch)
        for part in (*parts, self.nan_locator):
            if part is not None:
                part.close()

    def before_scaler(self, optimizer: Optimizer) -> None:
        """Remember how many steps the optimizer had made."""
        if optimizer in self._held:
            self._turn.scaled = True
            self._steps_before = self._turn.steps.get(id(optimizer), 0)

    def after_scaler(self, optimizer: Optimizer) -> None:
        """Notice that the scaler did not let the optimizer step."""
        if optimizer in self._held and self._turn.steps.get(id(optimizer), 0) == self._steps_before:
            self._turn.steps[id(optimizer)] = self._steps_before + 1
            self._turn.skipped += 1

    def _holdings(self) -> list[int]:
        return [
            id(parameter)
            for optimizer in self.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        ]

    def _unheld(self) -> tuple[str, ...]:
        held = {name for parameters in self._held.values() for name in parameters}
        return tuple(name for name in self.layers.parameters if held and name not in held)

    def _hold(self) -> None:
        """Note which of the model's parameters each optimizer holds."""
        self._held_from, self._held_ids = self.layers.parameters, self._holdings()
        for optimizer in self.optimizers:
            held = {id(each) for group in optimizer.param_groups for each in group["params"]}
            self._held[optimizer] = {
                name: parameter
                for name, parameter in self.layers.parameters.items()
                if id(parameter) in held
            }
            self.gradients.held = self._held[optimizer]

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._on_device and self.meter.blocked:
            return
        start = perf_counter()
        turn, key = self._turn, id(optimizer)
        turn.steps[key] = turn.steps.get(key, 0) + 1
        self.in_eval = self._has_modes and not self.layers.model.training
        rate = optimizer.param_groups[0].get("lr") if optimizer.param_groups else None
        if type(rate) is float and rate > self._rate_limit:
            turn.strange = True
        if self.quiet and not turn.scaled and not turn.strange and self._spot_check.is_alive():
            self.passing_time += perf_counter() - start
            return
        charged = self._clock.total
        closure = args[1] if len(args) > 1 else kwargs.get("closure")  # the first is the optimizer
        self._on_step(optimizer, closure is not None)
        self._clock.add("books", perf_counter() - start - (self._clock.total - charged))

    def _after_step(self, optimizer: Optimizer, *_: Any) -> None:
        if self._expected is not None:
            closure, self._expected = self._expected, None
            self._on_stepped(optimizer, closure)

    def _on_step(self, optimizer: Optimizer, closure: bool) -> None:
        self._expected = None
        self.layers.learn_order()
        if self._held_from is not self.layers.parameters:
            self._hold()
        self._spot_check.settle(self._held[optimizer])
        if not closure:
            self._use_gradients(optimizer, self._held[optimizer])
        if self.weights.due or self._turn.alarm or self._turn.strange:
            with self._clock.timing("weight"):
                self.guard.run("weight", self.weights.take, self._held[optimizer])
            self._expected = closure
        elif closure:
            self._expected = True

    def _on_stepped(self, optimizer: Optimizer, closure: bool) -> None:
        if closure:  # backward ran inside the step
            self._use_gradients(optimizer, self._held[optimizer], updated=True)
        with self._clock.timing("weight"):
            self.guard.run("weight", self.weights.updated)

    def _read_without_optimizer(self) -> None:
        self._turn.steps[id(None)] = 1
        self.layers.learn_order()
        self._use_gradients(None, self.layers.parameters, updated=True)
        if self.weights.due:
            with self._clock.timing("weight"):
                self.guard.run("weight", self.weights.take, self.layers.parameters)

    def _use_gradients(
        self,
        optimizer: Optimizer | None,
        parameters: Mapping[str, nn.Parameter],
        updated: bool = False,
    ) -> None:
        """Read the gradients that the optimizer is about to use, or has just used."""
        scale: Tensor | float = 1.0
        if self._turn.scaled:  # a fused optimizer unscales, and skips, by itself
            found_inf = getattr(optimizer, "found_inf", None)
            if found_inf is not None and self.meter.late:
                self._turn.dropped.append(self.meter.numbers(found_inf))
            elif found_inf is not None and float(found_inf) > 0:
                self._turn.skipped += 1
                return
            if (grad_scale := getattr(optimizer, "grad_scale", None)) is not None:
                scale = grad_scale.double().reciprocal()
        if self.meter.late and not self.gradients.due:
            return
        if not self.gradients.due:
            norms = self.guard.run("pulse", gradient_norms, parameters)
            if norms is None:
                return
            norm = self._turn.norms[id(optimizer)] = float(scale) * hypot(*norms)
            self._turn.strange |= self._fell_silent(optimizer, norms.count(0.0))
            if (isfinite(norm) or self._alarmed) and not self._turn.strange:
                return  # else look closer, once
        with self._clock.timing("gradient"):
            take, key = self.gradients.take, id(optimizer)
            self.guard.run("gradient", take, key, parameters, scale, self._turn.scaled)
        if not self.meter.late and not self._alarmed and not self.gradients.is_finite():
            self._turn.alarm = True
            # Once the weights are updated a second pass would only show what they have become.
            if self.nan_locator is not None and not self.activations.due and not updated:
                with self._clock.timing("replay"):
                    self.guard.run("replay", self.nan_locator.take)

    def _fell_silent(self, optimizer: Optimizer | None, silent: int) -> bool:
        """Tell whether more gradients are all zero than the last time."""
        before, self._silent[id(optimizer)] = self._silent.get(id(optimizer), silent), silent
        return silent > before

    def _gradient_tables(self, taken: Round) -> list[Table]:
        turn = taken.turn
        if turn.skipped:  # what was read belongs to a step that did not happen
            return []
        with self._clock.timing("gradient"):
            make = taken.gradients.tables
            order = self.layers.parameters
            tables = self.guard.run("gradient", make, taken.step, turn.scaled, order) or []
        if tables:
            held = {name for each in self._held.values() for name in each}
            turn.norms = {0: table_norm(tables[0], held)}
            if self.meter.late and not self._alarmed:
                turn.alarm = not taken.gradients.is_finite()
        return tables
