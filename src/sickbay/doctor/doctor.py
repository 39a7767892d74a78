"""The doctor: sits in the loop and says what is wrong."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from time import perf_counter, thread_time, time
from types import TracebackType
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.doctor.checks import check_epochs, check_model, check_on_finding, check_optimizers
from sickbay.doctor.governor import Every, Governor
from sickbay.doctor.numbers import as_number, averages
from sickbay.doctor.record import OnFinding, Record
from sickbay.doctor.ward import Ward
from sickbay.errors import Diagnosed
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.readings import Kind, Setup, Vitals
from sickbay.vitals.alarm import Alarm, RiseAlarm
from sickbay.vitals.clock import Clock
from sickbay.vitals.probe import Probe, Reading

REFRESH = 100  # steps after which the model is looked at again, in case it has changed
MICRO = 4096  # losses between two steps of the optimizer that are kept at the most
EVAL_STEPS = 6  # steps in evaluation mode that are judged whatever it costs
UNSTEPPED = 64  # calls of `step` without a step of the optimizer before we say so
UNHEARD = (
    "no layer's output could be read at this step: the model was not called, or is in eval mode, "
    "or was compiled before it was watched (watch first, or call torch._dynamo.reset())."
)


def watch(
    model: nn.Module,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    *,
    every: Every = "auto",
    budget: float = 0.01,
    profile: str = "default",
    problems: Sequence[str | Problem] | None = None,
    epochs: int | None = None,
    chart: str | os.PathLike[str] | None = None,
    on_finding: OnFinding = "advise",
    activations: bool = True,
) -> Doctor:
    """Watch a model train.

    Args:
        model: The model, before or after `torch.compile` (before, if activations are to be read).
        optimizer: Its optimizer, or several; without one, gradients are read as backward left them.
        every: How often statistics are read: "auto" (as often as `budget` pays for), a number of
            steps, or such a number for each kind, as in `{"gradient": 1}`; a kind not named there
            is never read.
        budget: With "auto": the fraction of the loop's time that watching may take.
        profile: The list of problems to look for: "default", or as published: "autotrainer",
            "bttackler", "training_doctor".
        problems: Problems to look for instead: names, or objects with thresholds of your own.
        epochs: How many epochs are planned, if known.
        chart: A folder to record the run in; it is made. If it holds a run already, the new one
            goes beside it (`NAME-2`).
        on_finding: "advise" (print it), "silent", "stop" (raise `Diagnosed` at the next `step`), or
            a function that is called with each finding.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor, whose `step` belongs into the loop.

    Raises:
        UsageError: If something given cannot be used; nothing has been changed then.
    """
    check_model(model)
    optimizers = check_optimizers(optimizer, model)
    check_on_finding(on_finding)
    check_epochs(epochs)
    kinds: list[Kind] = ["gradient", "weight", "batch", "activation"]
    governor = Governor(every, budget, kinds if activations else kinds[:-1])
    chosen = choose(profile, problems)
    history = History(Setup(epochs=epochs))
    record = Record(history, {each.name(): each for each in chosen}, on_finding, chart)
    return Doctor(model, optimizers, governor, chosen, history, record)


class Doctor:
    """Watches one model train; made by `watch`."""

    def __init__(
        self,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        governor: Governor,
        problems: Sequence[Problem],
        history: History,
        record: Record,
    ) -> None:
        self._governor, self._history, self._record = governor, history, record
        self._guard = record.guard
        self._ward = Ward(problems, self._guard)
        on_cpu = all(parameter.is_cpu for parameter in model.parameters())
        self._clock = Clock(thread_time if on_cpu and governor.every == "auto" else perf_counter)
        activations = "activation" in governor.kinds
        self._probe = Probe(model, optimizers, self._guard, self._clock, activations)
        # What came since the last optimizer step; bounded, should there never be one.
        self._waiting: deque[dict[str, float]] = deque(maxlen=MICRO)
        self._uneventful = 0  # steps that may pass unbooked
        self._passed: list[dict[str, float]] = []  # what was given with them
        self._next_look = 0
        self._loss_alarm, self._norm_alarm = RiseAlarm(), Alarm()
        self._eval_steps = 0  # made in evaluation mode, in a row
        self._restless = False  # the step at hand must be judged, whatever that costs
        self._closed = self._retired = False
        self._plan()
        self._last = perf_counter()

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far, oldest first."""
        return self._record.findings

    @property
    def events(self) -> list[Event]:
        """Findings, problems that went away, skipped steps and trouble of our own, oldest first."""
        return self._record.events

    @property
    def history(self) -> History:
        """The readings so far."""
        self._book_passed()
        return self._history

    @property
    def chart(self) -> Path | None:
        """The folder the run is recorded in, if it is."""
        return self._record.path

    @property
    def overhead(self) -> float:
        """The fraction of the loop's time that was spent in sickbay."""
        return self._governor.overhead

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
        if self._record.to_raise:
            findings, self._record.to_raise = self._record.to_raise, []
            raise Diagnosed(findings)
        try:  # not by the guard's `run`: this is the one path that every microsecond counts on
            if self._uneventful and self._pass(loss, metrics, start):
                return []
        except Exception as error:
            self._guard.fail("doctor", error)
        if self._probe.batch.due:
            self._guard.run("batch", self._probe.batch.given, loss, outputs, targets)
        new = self._guard.run("doctor", self._step, loss, metrics, start)
        if new is None:
            self._retire()
        return new or []

    def epoch(self, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that an epoch is over, with what was evaluated; return what it found."""
        return self._guard.run("doctor", self._end_epoch, metrics) or []

    def close(self) -> None:
        """Take every hook away and finish the chart. The findings stay."""
        if not self._closed:
            self._closed = True
            self._guard.run("passed steps", self._book_passed)
            self._guard.run("probe", self._probe.close)
            self._record.close()

    def __enter__(self) -> Doctor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _pass(self, loss: Any, metrics: Mapping[str, Any], start: float) -> bool:
        """Let a step pass that needs no bookkeeping yet; False if it does need it.

        In a loop of a few milliseconds a step, bookkeeping at every step would cost too much.
        """
        if type(loss) is Tensor and not metrics and not loss.ndim:
            numbers = {"loss": loss.item()}
        else:
            numbers = self._numbers(loss, metrics)
        probe = self._probe
        value = numbers.get("loss", 0.0)
        self._restless = not isfinite(value) or self._loss_alarm.rings(value)
        if self._waiting or self._restless or probe.in_eval or not probe.glance():
            return False
        self._passed.append(numbers)
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
        self._waiting.append(self._numbers(loss, metrics))
        reading = self._guard.run("probe", self._probe.collect, self._history.step)
        if reading is None:
            self._retire()
            reading = Reading(steps=1)
        new = self._take(reading) if reading.steps else []
        now = perf_counter()
        inside = self._clock.read()
        for what, cost in inside.items():
            costs[what] = costs.get(what, 0.0) + cost
        costs["books"] = costs.get("books", 0.0) + now - start - sum(inside.values())
        self._governor.lap(now - self._last, costs, passed + 1)
        self._last = now
        if reading.steps:
            self._plan()
            self._clock.add("books", perf_counter() - now)
        elif len(self._waiting) == UNSTEPPED and self._history.step < 0:
            self._record.notice(
                f"{UNSTEPPED} calls of step(), but the watched optimizer made none."
            )
        return new

    def _retire(self) -> None:
        """Take every hook away: what they bring would not be collected any more."""
        if not self._retired:
            self._retired = True
            self._guard.run("retiring", self._probe.close)

    def _plan(self) -> None:
        """Choose what is read at the next step."""
        due = self._governor.due(self._history.step + 1)
        self._guard.run("probe", self._probe.arm, due)
        hurried = not due and len(self._probe.optimizers) == 1
        self._uneventful = self._governor.uneventful() if hurried else 0
        self._probe.quiet = self._uneventful > 0

    def _take(self, reading: Reading) -> list[Finding]:
        """Add a reading to the history, and judge if there is something to judge."""
        scalars = {**averages(self._waiting), **reading.scalars, **self._probe.learning_rates()}
        self._waiting.clear()
        step = self._history.step + reading.steps
        self._add(Vitals(step, self._history.epoch, time(), scalars, reading.tables))
        if reading.skipped:
            self._record.event("skipped_step", "a gradient scaler dropped the step")
        if reading.unheard:
            self._record.notice(UNHEARD)
        if step >= self._next_look or reading.news:
            self._next_look = step + REFRESH
            self._guard.run("probe", self._look_again, reading.news)
        self._eval_steps = self._eval_steps + 1 if self._probe.in_eval else 0
        strange = self._restless or reading.strange or self._jumped(scalars)
        if strange:
            self._governor.look_closer(step + 1)
        restless = strange or reading.alarm or 0 < self._eval_steps < EVAL_STEPS
        self._restless = False
        return self._judge() if restless or self._governor.judging_due(step) else []

    def _jumped(self, scalars: Mapping[str, float]) -> bool:
        """Tell whether something must be judged now, whatever that costs."""
        loss, norm = scalars.get("loss"), scalars.get("grad_norm")
        rose = loss is not None and (not isfinite(loss) or self._loss_alarm.rings(loss))
        return (norm is not None and self._norm_alarm.rings(norm * norm)) or rose

    def _book_passed(self) -> int:
        """Put the steps that were let pass into the history; return how many."""
        passed, self._passed = self._passed, []
        for scalars in passed:
            self._add(Vitals(self._history.step + 1, self._history.epoch, time(), scalars))
        return len(passed)

    def _add(self, vitals: Vitals) -> None:
        self._history.append(vitals)
        self._record.vitals(vitals)

    def _end_epoch(self, metrics: Mapping[str, Any]) -> list[Finding]:
        if self._closed:
            return []
        self._book_passed()
        numbers = self._numbers(None, metrics)
        self._record.end_epoch(numbers)
        self._history.end_epoch(**numbers)
        self._guard.run("probe", self._look_again)
        return self._judge()

    def _look_again(self, news: bool = False) -> None:
        """See whether the model has changed, and tell the history what it is made of."""
        if self._probe.refresh() or news or not self._history.setup.layers:
            self._history.setup = self._probe.setup(self._history.setup.epochs)
            self._record.setup(self._history.setup)

    def _judge(self) -> list[Finding]:
        with self._clock.timing("judging"):
            verdict = self._ward.judge(self._history)
        with self._clock.timing("voice"):
            for finding in verdict.new:
                self._record.finding(finding)
            for finding, cause in verdict.explained:
                self._record.consequence(finding, cause)
            for name in verdict.gone:
                self._record.event("gone", f"{name} is gone")
            if verdict.new and len(standing := self._ward.standing) > 1:
                self._record.event("combined", f"{len(standing)} at once: {', '.join(standing)}")
        return verdict.new

    def _numbers(self, loss: Any, metrics: Mapping[str, Any]) -> dict[str, float]:
        """Return what was given as numbers; what is none is left out, and that is said."""
        numbers = {}
        for name, value in (metrics if loss is None else {"loss": loss, **metrics}).items():
            number = as_number(value)
            if number is None:
                text = f"{name} must be a number or a tensor, got {type(value).__name__}."
                self._record.notice(text)
            else:
                numbers[name] = number
        return numbers
