"""The doctor: sits in the loop and says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, thread_time, time
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.doctor import watched_models
from sickbay.doctor.causes import Causes
from sickbay.doctor.governor import Governor, summed
from sickbay.doctor.intake import UNMOVED, Desk, Mail
from sickbay.doctor.loop_numbers import numbers_of, told
from sickbay.doctor.run_log import SCRIPTED, UNHEARD, WAITING, RunLog
from sickbay.errors import Diagnosed
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.model_arguments import unwrap_compiled
from sickbay.probe.cost_clock import Clock
from sickbay.probe.hooks import can_be_hooked
from sickbay.probe.jump_alarm import Jumps
from sickbay.probe.meter import Meter, choose_meter
from sickbay.probe.probe import Probe
from sickbay.probe.turn import Reading
from sickbay.problems import Problem
from sickbay.vitals import Vitals

if TYPE_CHECKING:
    from sickbay.doctor.treatment import Treater, Treatment

REFRESH = 100  # steps after which the model is looked at again, in case it has changed
EVAL_STEPS = 6  # steps in evaluation mode that are judged whatever it costs


class Doctor:
    """Watches one model train; made by `watch`."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        governor: Governor,
        problems: Sequence[Problem],
        history: History,
        log: RunLog,
    ) -> None:
        self._governor, self._history, self._log = governor, history, log
        self._guard = log.guard
        self._causes = Causes(problems, self._guard)
        on_cpu = all(parameter.is_cpu for parameter in model.parameters())
        self._clock = Clock(thread_time if on_cpu and governor.every == "auto" else perf_counter)
        activations = "activation" in governor.kinds
        meter = Meter() if log.treats else choose_meter(model.parameters())
        if self._guard.run("taking over", watched_models.discharge, unwrap_compiled(model)):
            log.notice(watched_models.TAKEN_OVER)
        self._probe = Probe(model, optimizers, self._guard, self._clock, activations, meter)
        watched_models.enter(unwrap_compiled(model), self, self._probe)
        if not all(map(can_be_hooked, model.modules())):
            log.notice(SCRIPTED)
        parts = self._probe, self._guard, history, log.notice
        self._desk = Mail(*parts) if meter.late else Desk(*parts)
        if not on_cpu and not meter.late and not log.treats:
            log.notice(WAITING)
        self._treater = self._call_nurse() if log.treats else None
        self._uneventful = 0  # steps that may pass unbooked
        self._passed: list[Vitals] = []  # those that have passed, which the history has not got
        self._next_look = 0
        self._jumps = Jumps()
        self._eval_steps = 0  # made in evaluation mode, in a row
        self._untold: list[Finding] = []  # found while somebody looked
        self._closed = self._retired = False
        try:
            self._plan()
        except Exception:  # a function for `every` that fails
            Doctor.close(self)  # not that of a kind of doctor which is still being made
            raise
        self._last = perf_counter()

    def __repr__(self) -> str:
        found, cost = len(self._log.findings), f"{self.overhead:.1%}"
        step = self._guard.run("history", lambda: self._history.step)
        return f"<Doctor at step {step}: {found} findings, {cost} of the time>"

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far, oldest first."""
        self._guard.run("doctor", self._wait)
        return self._log.findings

    @property
    def events(self) -> list[Event]:
        """Findings, what became of them, skipped steps and trouble of our own, oldest first."""
        self._guard.run("doctor", self._wait)
        return self._log.events

    @property
    def treatments(self) -> list[Treatment]:
        """What was done to the loop, oldest first; only with `on_finding="treat"`."""
        return [] if self._treater is None else self._treater.treatments

    @property
    def history(self) -> History:
        """The readings so far."""
        self._guard.run("doctor", self._book_passed)
        self._guard.run("doctor", self._wait)
        return self._history

    @property
    def chart(self) -> Path | None:
        """The folder the run is recorded in, if it is."""
        return self._log.path

    @property
    def example(self) -> tuple[Tensor, ...]:
        """The inputs of the newest training batch, as far as they are tensors."""
        replay = self._probe.nan_locator
        return () if replay is None else tuple(self._guard.run("example", replay.inputs) or ())

    @property
    def overhead(self) -> float:
        """The fraction of the loop's time that was spent in sickbay."""
        return self._guard.run("overhead", lambda: self._governor.overhead) or 0.0

    def step(
        self,
        loss: Tensor | float | None = None,
        *,
        outputs: Tensor | None = None,
        targets: Tensor | None = None,
        **metrics: Tensor | float,
    ) -> list[Finding]:
        """Tell the doctor that a step was made; return what it found at it.

        Without an optimizer step since the last call (gradient accumulation) the values are kept
        and count towards the next one.

        Args:
            loss: The loss, best as the tensor itself: what it is made of can be told from it.
            outputs: What the loss has compared with the targets; found by itself where the loss is
                a module of torch.
            targets: What the outputs should have been; found in the same way.
            metrics: Other numbers of the step; `accuracy` is used where it is given.
        """
        start = perf_counter()
        if self._log.to_raise and (found := self._guard.run("stopping", self._log.taken)):
            raise Diagnosed(found)
        try:  # not by the guard's `run`: this is the one path that every microsecond counts on
            if self._uneventful and self._pass(loss, metrics, start):
                return []
            if self._probe.batch.due:
                self._guard.run("batch", self._probe.batch.given, loss, outputs, targets)
            if "doctor" not in self._guard.off:
                return self._step(loss, metrics, start)
        except Exception as error:
            self._guard.fail("doctor", error)
        self._guard.run("retiring", self._retire)
        return []

    def epoch(self, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that an epoch is over, with what was evaluated; return what it found."""
        return self._guard.run("doctor", self._end_epoch, metrics) or []

    def close(self) -> None:
        """Take every hook away and finish the chart. The findings stay."""
        if not self._closed:
            self._closed = True
            self._guard.run("passed steps", self._book_passed)
            self._guard.run("doctor", self._wait)
            self._guard.run("retiring", self._retire)
            self._guard.run("record", self._log.close)

    def __enter__(self) -> Doctor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pass(self, loss: Any, metrics: Mapping[str, Any], start: float) -> bool:
        """Let a step pass that needs no bookkeeping yet; False if it does need it.

        In a loop of a few milliseconds a step, bookkeeping at every step would cost too much.
        """
        if type(loss) is Tensor and not metrics and not loss.ndim:
            numbers = {"loss": loss.item()}
        else:
            numbers = numbers_of(told(loss, metrics), self._log.notice)
        probe = self._probe
        rose = self._jumps.rises(numbers.get("loss", 0.0))
        if self._desk.waiting or rose or probe.in_eval or not probe.glance():
            return False
        self._jumps.forget()
        step = self._history.step + len(self._passed) + 1
        vitals = Vitals(step, self._history.epoch, time(), numbers)
        self._log.vitals(vitals)
        self._passed.append(vitals)
        self._uneventful -= 1
        if not self._uneventful:
            probe.quiet = False
        probe.passing_time += perf_counter() - start
        return True

    def _step(self, loss: Any, metrics: Mapping[str, Any], start: float) -> list[Finding]:
        if self._closed:
            return []
        costs = self._clock.read()
        costs["passing"], self._probe.passing_time = self._probe.passing_time, 0.0
        passed = self._book_passed()
        stepped = self._desk.hand_in(loss, metrics)
        if "probe" in self._guard.off:
            self._retire()
        new = self._receive()
        now = perf_counter()
        inside = self._clock.read()
        books = {"books": now - start - sum(inside.values())}
        others = [part.costs() for part in (self._desk, self._treater) if part is not None]
        self._governor.lap(now - self._last, summed(costs, inside, books, *others), passed + 1)
        self._last = now
        if stepped:
            treating = self._treat()
            self._plan()
            self._clock.add("books", perf_counter() - now - treating)
        elif self._desk.misses_steps:
            self._log.notice(UNMOVED)
        return new

    def _retire(self) -> None:
        """Take every hook away: what they bring would not be collected any more."""
        if not self._retired:
            self._retired, self._uneventful = True, 0
            self._guard.run("end of probing", self._probe.close)
            watched_models.leave(self._probe.layers.model)
            if self._treater is not None:
                self._guard.run("end of treatment", self._treater.close)

    def _plan(self) -> None:
        """Choose what is read at the next step."""
        due = self._governor.due(self._desk.step + 1) if not self._probe.meter.full else set()
        self._guard.run("probe", self._probe.arm, due)
        hurried = not due and len(self._probe.optimizers) == 1 and not self._probe.meter.late
        self._uneventful = self._governor.uneventful() if hurried else 0
        if self._treater is not None:
            self._uneventful = min(self._uneventful, self._treater.may_pass)
        self._probe.quiet = self._uneventful > 0

    def _receive(self, wait: bool = False) -> list[Finding]:
        """Take every reading that is ready, and those on their way if they are waited for."""
        new, self._untold = self._untold, []
        for reading, given in self._desk.pick_up(wait):
            new += self._take(reading, given)
        return new

    def _wait(self) -> None:
        """Wait for what is on its way; what is found is told at the next step or epoch."""
        self._untold = self._receive(wait=True)

    def _take(self, reading: Reading, given: Mapping[str, float]) -> list[Finding]:
        """Add a reading to the history, and judge if there is something to judge."""
        scalars = {**given, **reading.scalars}
        step = self._history.step + reading.steps
        vitals = Vitals(step, self._history.epoch, time(), scalars, reading.tables)
        self._book(vitals)
        self._log.vitals(vitals)
        if reading.skipped:
            self._log.event("skipped_step", "a gradient scaler dropped the step")
        if reading.unheard:
            self._log.notice(UNHEARD)
        if step >= self._next_look or reading.news:
            self._next_look = step + REFRESH
            self._guard.run("probe", self._look_again, reading.news)
        self._eval_steps = self._eval_steps + 1 if reading.scalars.get("in_eval") else 0
        strange = self._jumps.are_in(scalars) or reading.strange
        if strange:
            self._governor.look_closer(self._desk.step + 1)
        restless = strange or reading.alarm or 0 < self._eval_steps < EVAL_STEPS
        return self._judge() if restless or self._governor.judging_due(step) else []

    def _book_passed(self) -> int:
        """Put the steps that were let pass into the history; return how many."""
        passed, self._passed = self._passed, []
        for vitals in passed:
            self._book(vitals)
        return len(passed)

    def _book(self, vitals: Vitals) -> None:
        self._history.append(vitals)

    def _end_epoch(self, metrics: Mapping[str, Any]) -> list[Finding]:
        if self._closed:
            return []
        self._book_passed()
        new = self._receive(wait=True)
        self._close_epoch(numbers_of(metrics, self._log.notice))
        self._guard.run("probe", self._look_again)
        new += self._judge()
        self._treat()
        return new

    def _close_epoch(self, numbers: Mapping[str, float]) -> None:
        self._log.end_epoch(numbers)
        self._history.end_epoch(**numbers)

    def _look_again(self, news: bool = False) -> None:
        """See whether the model has changed, and tell the history what it is made of."""
        if self._probe.refresh() or news or not self._history.setup.layers:
            self._history.setup = self._probe.setup(self._history.setup.epochs)
            self._log.setup(self._history.setup)

    def _judge(self) -> list[Finding]:
        with self._clock.timing("judging"):
            verdict = self._causes.judge(self._history)
        with self._clock.timing("voice"):
            self._log.verdict(verdict, self._causes.standing)
        return verdict.new

    def _call_nurse(self) -> Treater:
        from sickbay.doctor.treatment import Treater  # only who treats waits for it

        budget = self._governor.budget
        parts = self._probe, self._history, self._log
        return Treater(*parts, self._wake, budget, self._causes.problems)

    def _wake(self) -> None:  # from letting steps pass: something was done to this one
        self._uneventful, self._probe.quiet = 0, False

    def _treat(self) -> float:
        """Treat what there is to treat; return the seconds."""
        return 0.0 if self._treater is None else self._treater.act(self._causes.standing)
