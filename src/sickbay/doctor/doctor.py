"""The doctor: sits in the loop and says what is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from time import perf_counter, time
from types import TracebackType
from typing import Any, Literal, TypeAlias

from torch import Tensor, nn
from torch.optim import Optimizer

from sickbay.chart import ChartWriter
from sickbay.doctor.governor import Every, Governor
from sickbay.doctor.ward import Ward
from sickbay.errors import Diagnosed, UsageError
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import choose
from sickbay.readings import Kind, Setup, Vitals
from sickbay.reports import terminal
from sickbay.vitals.clock import Clock
from sickbay.vitals.guard import Guard
from sickbay.vitals.probe import Probe, Reading

OnFinding: TypeAlias = Literal["advise", "silent", "stop"] | Callable[[Finding], object]

REFRESH = 100  # steps after which the model is looked at again, in case it has changed
UNSTEPPED = 64  # calls of `step` without a step of the optimizer before we say so
UNHEARD = (
    "no layer's output could be read: the model was compiled before it was watched (watch first, "
    "or call torch._dynamo.reset()), or it trains in eval mode. Gradients and weights are read."
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
        profile: The list of problems to look for: "default" or "autotrainer".
        problems: Problems to look for instead: names, or objects with thresholds of your own.
        epochs: How many epochs are planned, if known.
        chart: A folder to record the run in; it is made.
        on_finding: "advise" (print it), "silent", "stop" (raise `Diagnosed` at the next `step`), or
            a function that is called with each finding.
        activations: Whether to read the outputs of layers.

    Returns:
        The doctor, whose `step` belongs into the loop.
    """
    return Doctor(
        model, optimizer, every=every, budget=budget, profile=profile, problems=problems,
        epochs=epochs, chart=chart, on_finding=on_finding, activations=activations,
    )  # fmt: skip


class Doctor:
    """Watches one model train; made by `watch`.

    Attributes:
        findings: Everything found so far, oldest first.
        events: What happened: findings, problems that went away, skipped steps, trouble of our own.
    """

    def __init__(
        self,
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
    ) -> None:
        check_model(model)
        optimizers = check_optimizers(optimizer, model)
        if not callable(on_finding) and on_finding not in ("advise", "silent", "stop"):
            possible = "'advise', 'silent', 'stop' or a function"
            raise UsageError(f"on_finding must be {possible}, got {on_finding!r}.")
        if epochs is not None and (not isinstance(epochs, int) or epochs < 1):
            raise UsageError(f"epochs must be a whole number from 1 on, or None, got {epochs!r}.")
        kinds: list[Kind] = ["gradient", "weight", "activation"]
        self._governor = Governor(every, budget, kinds if activations else kinds[:2])
        self._guard = Guard(self._trouble)
        self._ward = Ward(choose(profile, problems), self._guard)
        self._on_finding, self._epochs = on_finding, epochs
        self.findings: list[Finding] = []
        self.events: list[Event] = []
        self._history = History(Setup(epochs=epochs))
        self._chart = None if chart is None else ChartWriter(chart, self._history.setup)
        self._clock = Clock()
        self._waiting: list[dict[str, float]] = []  # what came since the last optimizer step
        self._to_raise: list[Finding] = []
        self._said: set[str] = set()
        self._closed = False
        self._uneventful = 0  # steps that may pass unbooked
        self._passed_losses: list[float] = []
        self._passed_norms: list[float] = []
        self._reads = self._next_look = 0
        self._probe = Probe(model, optimizers, self._guard, self._clock)
        self._probe.arm(self._governor.due(0))
        self._last = perf_counter()

    @property
    def history(self) -> History:
        """The readings so far."""
        self._book_passed()
        return self._history

    @property
    def overhead(self) -> float:
        """The fraction of the loop's time that was spent in sickbay."""
        return self._governor.overhead

    def step(self, loss: Tensor | float | None = None, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that a step was made; return what it found at it.

        Without an optimizer step since the last call (gradient accumulation) the values are kept
        and count towards the next one.
        """
        start = perf_counter()
        if self._to_raise:
            findings, self._to_raise = self._to_raise, []
            raise Diagnosed(findings)
        if self._uneventful and not metrics and self._pass(loss, start):
            return []
        return self._guard.run("doctor", self._step, loss, metrics, start) or []

    def epoch(self, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that an epoch is over, with what was evaluated; return what it found."""
        return self._guard.run("doctor", self._end_epoch, metrics) or []

    def close(self) -> None:
        """Take every hook away and finish the chart. The findings stay."""
        if not self._closed:
            self._closed = True
            self._guard.run("doctor", self._book_passed)
            self._guard.run("probe", self._probe.close)
            if self._chart is not None:
                self._guard.run("end of the chart", self._chart.close)

    def __enter__(self) -> Doctor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _pass(self, loss: Any, start: float) -> bool:
        """Let a step pass that needs no bookkeeping yet; False if it does need it.

        On a loop of few milliseconds a step even the bookkeeping would be too dear at every step.
        """
        if type(loss) is not Tensor or loss.ndim:
            return False
        value = loss.item()
        norm = self._probe.norm
        if not isfinite(value) or not isfinite(norm) or not self._probe.glance():
            return False
        self._uneventful -= 1
        self._passed_losses.append(value)
        self._passed_norms.append(norm)
        self._clock.add("passing", start)
        return True

    def _step(
        self, loss: Tensor | float | None, metrics: Mapping[str, Any], start: float
    ) -> list[Finding]:
        if self._closed:
            return []
        costs = self._clock.read()
        steps = self._book_passed()
        self._keep({**({} if loss is None else {"loss": loss}), **metrics})
        reading = self._guard.run("probe", self._probe.collect, self._history.step)
        if reading is None:
            reading = Reading(steps=1)
        new = self._take(reading) if reading.steps else []
        now = perf_counter()
        inside = self._clock.read()
        for what, cost in inside.items():
            costs[what] = costs.get(what, 0.0) + cost
        costs["books"] = costs.get("books", 0.0) + now - start - sum(inside.values())
        reads = self._probe.pulse.reads
        self._governor.lap(now - self._last, costs, steps=steps + 1, norms=reads - self._reads)
        self._last, self._reads = now, reads
        if reading.steps:
            self._plan()
            self._clock.add("books", now)
        return new

    def _plan(self) -> None:
        """Choose what is read at the next step."""
        self._probe.pulse.breadth = self._governor.breadth()
        due = self._governor.due(self._history.step + 1)
        self._guard.run("probe", self._probe.arm, due)
        self._uneventful = 0 if due else self._governor.uneventful()

    def _book_passed(self) -> int:
        """Put the steps that were let pass into the history; return how many."""
        count = len(self._passed_losses)
        if count:
            self._history.extend(
                self._history.step + 1, loss=self._passed_losses, grad_norm=self._passed_norms
            )
            if self._chart is not None:
                self._guard.run("chart", self._chart_passed, self._chart, count)
            self._passed_losses.clear()
            self._passed_norms.clear()
        return count

    def _chart_passed(self, chart: ChartWriter, count: int) -> None:
        pairs = zip(self._passed_losses, self._passed_norms, strict=True)
        first = self._history.step - count + 1
        for step, (loss, norm) in enumerate(pairs, start=first):
            scalars = {"loss": loss, "grad_norm": norm}
            chart.append(Vitals(step=step, epoch=self._history.epoch, time=time(), scalars=scalars))

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keep what was given with a step until the optimizer has made one."""
        numbers = {}
        for name, value in given.items():
            number = as_number(value)
            if number is None:
                self._notice(f"{name} must be a number or a tensor, got {type(value).__name__}.")
            else:
                numbers[name] = number
        self._waiting.append(numbers)
        if len(self._waiting) == UNSTEPPED and self._history.step < 0:
            self._notice(f"{UNSTEPPED} calls of step(), but the watched optimizer made none.")

    def _take(self, reading: Reading) -> list[Finding]:
        """Add a reading to the history, and judge if there is something to judge."""
        scalars = {**averages(self._waiting), **reading.scalars, **self._probe.learning_rates()}
        self._waiting.clear()
        vitals = Vitals(
            step=self._history.step + reading.steps,
            epoch=self._history.epoch,
            time=time(),
            scalars=scalars,
            tables=reading.tables,
        )
        self._history.append(vitals)
        if self._chart is not None:
            self._guard.run("chart", self._chart.append, vitals)
        if reading.skipped:
            self._record(self._event("skipped_step", "a gradient scaler dropped the step"))
        if reading.unheard:
            self._notice(UNHEARD)
        if vitals.step >= self._next_look:
            self._next_look = vitals.step + REFRESH
            self._guard.run("probe", self._look_again)
        restless = reading.alarm or not isfinite(scalars.get("loss", 0.0))
        if restless or reading.tables or self._governor.judging_due():
            return self._judge()
        return []

    def _end_epoch(self, metrics: Mapping[str, Any]) -> list[Finding]:
        if self._closed:
            return []
        self._book_passed()
        numbers = {name: as_number(value) for name, value in metrics.items()}
        known = {name: number for name, number in numbers.items() if number is not None}
        for name in numbers.keys() - known.keys():
            self._notice(f"{name} must be a number or a tensor, got {metrics[name]!r}.")
        if self._chart is not None:
            self._guard.run("chart", self._chart.end_epoch, self._history.epoch, known)
        self._history.end_epoch(**known)
        self._guard.run("probe", self._look_again)
        return self._judge()

    def _look_again(self) -> None:
        """See whether the model has changed, and tell the history what it is made of."""
        if self._probe.refresh() or self._history.step <= 0:
            self._history.setup = self._probe.setup(self._epochs)
            if self._chart is not None:
                self._guard.run("chart", self._chart.setup, self._history.setup)

    def _judge(self) -> list[Finding]:
        with self._clock.timing("judging"):
            new, gone = self._ward.judge(self._history)
        for finding in new:
            self.findings.append(finding)
            self._record(
                Event(kind="finding", step=finding.step, epoch=finding.epoch, text=str(finding))
            )
            if self._chart is not None:
                self._guard.run("chart", self._chart.finding, finding)
            with self._clock.timing("voice"):
                self._guard.run("voice", self._announce, finding)
        for name in gone:
            self._record(self._event("gone", f"{name} is gone"))
        return new

    def _announce(self, finding: Finding) -> None:
        if callable(self._on_finding):
            self._on_finding(finding)
        elif self._on_finding == "advise":
            problem = self._ward.problems.get(finding.problem)
            terminal.show(finding, problem.advice if problem else "")
        elif self._on_finding == "stop":
            self._to_raise.append(finding)

    def _event(
        self, kind: Literal["gone", "skipped_step", "trouble", "notice"], text: str
    ) -> Event:
        step = max(self._history.step, 0)
        return Event(kind=kind, step=step, epoch=self._history.epoch, text=text)

    def _record(self, event: Event) -> None:
        self.events.append(event)
        if self._chart is not None:
            self._guard.run("chart", self._chart.event, event)

    def _notice(self, text: str) -> None:
        """Say something about the watching itself, once."""
        if text not in self._said:
            self._said.add(text)
            self._record(self._event("notice", text))
            if self._on_finding != "silent":
                self._guard.run("voice", terminal.say, text)

    def _trouble(self, part: str, error: Exception) -> None:
        """Report that a part of ours has failed and is switched off. Called by the guard."""
        text = f"{part} failed and is switched off ({type(error).__name__}: {error})."
        self._record(self._event("trouble", text))
        terminal.say(text)


def as_number(value: Any) -> float | None:
    """Return a number as a float, a tensor as the mean of its values, None for anything else."""
    if isinstance(value, Tensor):
        value = value.detach()
        return float(value.item() if value.ndim == 0 else value.float().mean().item())
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def averages(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every name over the rows that have it."""
    if len(rows) == 1:
        return dict(rows[0])
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    return {name: sum(each) / len(each) for name, each in values.items()}


def check_model(model: object) -> None:
    """Say so if this is not a model that can be watched."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise UsageError("model must have parameters that require a gradient, got none.")


def check_optimizers(optimizer: object, model: nn.Module) -> list[Optimizer]:
    """Return the optimizers as a list, or say what is wrong with them."""
    if optimizer is None:
        return []
    given = list(optimizer) if isinstance(optimizer, list | tuple) else [optimizer]
    own = {id(parameter) for parameter in model.parameters()}
    optimizers: list[Optimizer] = []
    for each in given:
        if not isinstance(each, Optimizer):
            possible = "a torch.optim.Optimizer, a list of them, or None"
            raise UsageError(f"optimizer must be {possible}, got {type(each).__name__}.")
        held = {id(parameter) for group in each.param_groups for parameter in group["params"]}
        if not held & own:
            name = type(each).__name__
            raise UsageError(
                f"optimizer must hold parameters of the model, got {name} with {len(held)} "
                f"parameters, none of them of the {type(model).__name__}."
            )
        optimizers.append(each)
    return optimizers
