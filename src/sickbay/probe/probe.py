"""The probe: hooks into a running loop, and turns what they collect at a step into `Vitals`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import hypot, isfinite, isnan
from time import perf_counter, time
from typing import Any

from torch import nn
from torch.optim import Optimizer

from sickbay.probe import clean_copies, grad_scaler
from sickbay.probe.activations import Activations
from sickbay.probe.batch import Batch
from sickbay.probe.collected import Collected
from sickbay.probe.cost_clock import Clock
from sickbay.probe.gradient_norms import SpotCheck, gradient_norms
from sickbay.probe.gradients import Gradients, table_norm
from sickbay.probe.guard import Guard
from sickbay.probe.hooks import Handles
from sickbay.probe.layer_order import HeldParameters, Layers, acts_by_mode
from sickbay.probe.locate_nan import NanLocator
from sickbay.probe.meter import Meter
from sickbay.probe.weights import Weights
from sickbay.vitals import Kind, Setup, Table, Vitals


class Probe:
    """Watches a model and its optimizers.

    `arm` says what to read at the next step, `collect` returns it, `vitals` turns it into numbers.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        guard: Guard,
        clock: Clock,
        activations: bool = True,
        meter: Meter | None = None,
    ) -> None:
        self.meter = meter = meter or Meter()
        self._on_device = any(each.is_cuda for each in model.parameters())
        self.layers = Layers(model, guard)
        self.held = HeldParameters(optimizers, self.layers)
        self.activations = Activations(self.layers, guard, clock, meter)
        self.gradients = Gradients(self.layers, self.held, guard, clock, meter)
        self.weights = Weights(guard, meter)
        self.nan_locator = NanLocator(self.layers, guard, meter) if activations else None
        self.batch = Batch(self.layers.model, self.held.ids, self.nan_locator, guard, clock, meter)
        self.quiet = False  # whether steps may pass without a reading
        self.in_eval = False  # at the last step of the optimizer, if the mode makes a difference
        self.guard, self.clock = guard, clock
        self._hooks = Handles()
        self._spot_check, self._now = SpotCheck(), Collected()
        self._alarmed = False  # something was not finite at the last reading
        self._silent: dict[int, int] = {}  # gradients that were all zero, by optimizer
        self._expected: bool | None = None  # the end of a step; True if backward runs inside it
        self._has_modes = any(map(acts_by_mode, self.layers.model.modules()))
        for optimizer in optimizers:
            before, after = guard.wrap("probe", self._before_step), self._after_step
            self._hooks.add(optimizer.register_step_pre_hook(before))
            self._hooks.add(optimizer.register_step_post_hook(guard.wrap("probe", after)))
        grad_scaler.listen(self)
        clean_copies.keep_clean(self)

    def arm(self, kinds: Collection[Kind]) -> None:
        """Be ready to read these kinds at the next step."""
        for part in (self.gradients, self.weights, self.activations, self.batch):
            due = part.kind in kinds
            if due or part.due:
                part.arm(due)

    def was_uneventful(self) -> bool:
        """Return whether there was one uneventful step; if so, be ready for the next one."""
        now = self._now
        eventful = now.alarm or now.unusual or now.skipped or now.norms
        if eventful or list(now.steps.values()) != [1]:
            return False
        now.steps.clear()
        return True

    def collect(self, last: int) -> Collected | None:
        """Return everything collected since step `last`, None if no optimizer made a step."""
        now = self._now
        if not self.held.optimizers:
            self._read_without_optimizer()
        if not now.length:
            return None
        closer, locator = now.alarm or now.unusual, self.nan_locator
        now.step = last + now.length
        now.gradients = self.gradients.release()
        now.weights = self._released(self.weights, closer)
        now.activations = self._released(self.activations, closer)
        if self.batch.due and not self.meter.late:  # a late meter keeps no whole call
            self.batch.trials.run()
        now.batch = self._released(self.batch, closer)
        if locator is not None and closer:
            now.replayed = locator.collect(now.step)
        now.in_eval = self.in_eval
        now.listening = self.activations.listens and self.layers.model.training
        self._now = Collected()
        return now

    def vitals(self, collected: Collected, epoch: int) -> Vitals:
        """Turn what was collected into vitals, once all of it has arrived."""
        step, facts = collected.step, self.batch.facts
        collected.skipped += sum(bool(each.any()) for each in collected.late_skips)
        tables = self._gradient_tables(collected)
        scalars = dict(collected.numbers)
        if collected.weights is not None:
            ratio = collected.weights.update_ratio()
            scalars |= {} if isnan(ratio) else {"update_ratio": ratio}
            tables += self._made("weight", collected.weights.table, step, self.layers.parameters)
        if collected.gradients is not None:
            scalars |= collected.gradients.uncleared() | collected.gradients.erased()
        if self._has_modes:
            scalars["in_eval"] = float(collected.in_eval)
        if collected.activations is not None:
            made = collected.activations.table
            tables += self._made("activation", made, step, self.layers.modules)
            if collected.activations.compiled is not None:
                self.activations.compiled = collected.activations.compiled
        if collected.batch is not None:
            tables += self._made("batch", self.batch.table, collected.batch, step)
            scalars |= self.batch.scalars
        if collected.replayed is not None:
            tables.append(collected.replayed)
        if collected.norms:
            scalars["grad_norm"] = collected.norm
        self._alarmed = collected.alarm or (self._alarmed and not isfinite(collected.norm))
        heard = any(each.kind == "activation" for each in tables)
        collected.no_activations = collected.listening and not heard
        collected.learnt = self.batch.facts != facts
        return Vitals(step, epoch, time(), scalars, tables)

    def refresh(self) -> bool:
        """Look at the model and the optimizers again; return whether the model has changed."""
        changed = self.layers.refresh()
        if changed or self.held.ids() != self.held.known_ids:
            self.arm(())
            self.held.update()
        return changed

    def setup(self, known: Setup) -> Setup:
        """Return what is known about the run, with what others have told in `known`."""
        seen = self.batch.facts
        return replace(
            seen,
            **known.told(seen),
            loss=seen.loss or known.loss,
            stretched=known.stretched or (seen.stretched and not known.unstretched),
            frozen=self.layers.frozen(),
            untrained=self.layers.untrained(),
            dropout=self.layers.dropout(),
            settings=self.held.settings(),
            layers=self.layers.class_names(),
            shapes={name: tuple(each.shape) for name, each in self.layers.parameters.items()},
            optimizer=", ".join(type(optimizer).__name__ for optimizer in self.held.optimizers),
            unheld=self.held.unheld(),
            uncalled=self.layers.uncalled(),
        )

    def close(self) -> None:
        """Remove every hook."""
        self._hooks.remove()
        grad_scaler.forget(self)
        clean_copies.forget(self)
        if self.nan_locator is not None:
            self.nan_locator.close()
        for part in (self.layers, self.activations, self.gradients, self.weights, self.batch):
            part.close()

    def before_scaler(self, optimizer: Optimizer) -> None:
        """Remember how many steps the optimizer had made."""
        if optimizer in self.held.optimizers:
            self._now.scaled = True
            self._steps_before = self._now.steps.get(id(optimizer), 0)

    def after_scaler(self, optimizer: Optimizer) -> None:
        """Notice that the scaler did not let the optimizer step."""
        steps, key = self._now.steps, id(optimizer)
        if optimizer in self.held.optimizers and steps.get(key, 0) == self._steps_before:
            steps[key] = self._steps_before + 1
            self._now.skipped += 1

    def _released(self, part: Any, closer: bool) -> Any:
        """Return what a part has collected, None if it was not to collect anything."""
        if not (part.due or closer):
            return None
        with self.clock.timing(part.kind):
            return self.guard.run(part.kind, part.release)

    def _made(self, kind: Kind, make: Any, *args: Any) -> list[Table]:
        with self.clock.timing(kind):
            table = self.guard.run(kind, make, *args)
        return [] if table is None else [table]

    def _gradient_tables(self, collected: Collected) -> list[Table]:
        gradients = collected.gradients
        if collected.skipped or gradients is None:  # a skipped step did not use its gradients
            return []
        with self.clock.timing("gradient"):
            step, scaled, order = collected.step, collected.scaled, self.layers.parameters
            tables = self.guard.run("gradient", gradients.tables, step, scaled, order) or []
        if tables:
            collected.norms = {0: table_norm(tables[0], self.held.names())}
            if self.meter.late and not self._alarmed:
                collected.alarm = not gradients.is_finite()
        return tables

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._on_device and self.meter.blocked:
            return
        start = perf_counter()
        now, key = self._now, id(optimizer)
        now.steps[key] = now.steps.get(key, 0) + 1
        self.in_eval = self._has_modes and not self.layers.model.training
        rate = optimizer.param_groups[0].get("lr") if optimizer.param_groups else None
        if type(rate) is float and rate > self.held.rate_limit:
            now.unusual = True
        if self.quiet and not now.scaled and not now.unusual and self._spot_check.passes():
            self.clock.passing += perf_counter() - start
            return
        charged = self.clock.total
        closure = args[1] if len(args) > 1 else kwargs.get("closure")  # the first is the optimizer
        self._on_step(optimizer, closure is not None)
        self.clock.add_rest("bookkeeping", start, charged)

    def _after_step(self, optimizer: Optimizer, *_: Any) -> None:
        if self._expected is not None:
            closure, self._expected = self._expected, None
            self._on_stepped(optimizer, closure)

    def _on_step(self, optimizer: Optimizer, closure: bool) -> None:
        self._expected = None
        self.layers.learn_order()
        if self.held.listed is not self.layers.parameters:
            self.held.update()
        held = self.held.by_optimizer[optimizer]
        self._spot_check.choose(held)
        if not closure:
            self._use_gradients(optimizer, held)
        if self.weights.due or self._now.alarm or self._now.unusual:
            with self.clock.timing("weight"):
                self.guard.run("weight", self.weights.take, held)
            self._expected = closure
        elif closure:
            self._expected = True

    def _on_stepped(self, optimizer: Optimizer, closure: bool) -> None:
        if closure:  # backward ran inside the step
            self._use_gradients(optimizer, self.held.by_optimizer[optimizer], updated=True)
        with self.clock.timing("weight"):
            self.guard.run("weight", self.weights.updated)

    def _read_without_optimizer(self) -> None:
        self._now.steps[id(None)] = 1
        self.layers.learn_order()
        self._use_gradients(None, self.layers.parameters, updated=True)
        if self.weights.due:
            with self.clock.timing("weight"):
                self.guard.run("weight", self.weights.take, self.layers.parameters)

    def _use_gradients(
        self,
        optimizer: Optimizer | None,
        parameters: Mapping[str, nn.Parameter],
        updated: bool = False,
    ) -> None:
        """Read the gradients that the optimizer is about to use, or has just used."""
        now = self._now
        if now.scaled and grad_scaler.record_skip(optimizer, now, self.meter):
            return
        if self.meter.late and not self.gradients.due:
            return
        scale = grad_scaler.factor(optimizer) if now.scaled else 1.0
        if not self.gradients.due:
            if (norms := self.guard.run("gradient norm", gradient_norms, parameters)) is None:
                return
            norm = now.norms[id(optimizer)] = float(scale) * hypot(*norms)
            now.unusual |= self._fell_silent(optimizer, norms.count(0.0))
            if (isfinite(norm) or self._alarmed) and not now.unusual:
                return  # else look closer, once
        with self.clock.timing("gradient"):
            take, key = self.gradients.take, id(optimizer)
            self.guard.run("gradient", take, key, parameters, scale, now.scaled)
        if not self.meter.late and not self._alarmed and not self.gradients.is_finite():
            now.alarm = True
            # After the update, a second pass would only show what the weights have become.
            if self.nan_locator is not None and not self.activations.due and not updated:
                with self.clock.timing("replay"):
                    self.guard.run("replay", self.nan_locator.take)

    def _fell_silent(self, optimizer: Optimizer | None, silent: int) -> bool:
        """Return whether more gradients are all zero than the last time."""
        before, self._silent[id(optimizer)] = self._silent.get(id(optimizer), silent), silent
        return silent > before
