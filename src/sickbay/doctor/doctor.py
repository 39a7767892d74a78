"""The doctor: sits in the loop and says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter, time
from typing import TYPE_CHECKING, Any

from torch import Tensor

from sickbay.doctor import watched_models
from sickbay.doctor.intake import UNMOVED, Intake, as_numbers, named
from sickbay.doctor.judge_protocol import Judging
from sickbay.doctor.run_log import SCRIPTED, UNHEARD, WAITING
from sickbay.doctor.view import DoctorView
from sickbay.doctor.watch_arguments import Watched
from sickbay.errors import Diagnosed
from sickbay.findings import Finding
from sickbay.model_arguments import unwrap_compiled
from sickbay.probe.collected import Collected
from sickbay.probe.hooks import can_be_hooked
from sickbay.probe.jump_alarm import Jumps
from sickbay.probe.meter import Meter, choose_meter
from sickbay.probe.probe import Probe
from sickbay.vitals import Vitals

if TYPE_CHECKING:
    from sickbay.doctor.treatment import Treater

REFRESH = 100  # steps after which the model is looked at again, in case it has changed
EVAL_STEPS = 6  # steps in evaluation mode that are judged whatever it costs


class Doctor(DoctorView):
    """Watches one model train; created by `watch`."""

    def __init__(self, watched: Watched, judge: Judging) -> None:
        model, log = watched.model, watched.log
        self._governor, self._clock = watched.governor, watched.governor.clock
        self._history, self._log, self._guard, self._judge = watched.history, log, log.guard, judge
        on_cpu = all(parameter.is_cpu for parameter in model.parameters())
        meter = Meter() if log.treats else choose_meter(model.parameters())
        if self._guard.run("taking over", watched_models.close_earlier, unwrap_compiled(model)):
            log.notice(watched_models.TAKEN_OVER)
        reads = "activation" in self._governor.kinds
        self._probe = Probe(model, watched.optimizers, self._guard, self._clock, reads, meter)
        self._probe.gradients.wants_dead_rows = watched.reads_dead_gradients
        watched_models.register(unwrap_compiled(model), self, self._probe)
        if not all(map(can_be_hooked, model.modules())):
            log.notice(SCRIPTED)
        self._intake = Intake(self._probe, self._guard, self._history, log.notice)
        if not on_cpu and not meter.late and not log.treats:
            log.notice(WAITING)
        self._treater: Treater | None = None
        if log.treats:
            from sickbay.doctor.treatment import Treater  # a slow import, needed only here

            self._treater = Treater(self._probe, watched)
        self._uneventful = 0  # steps that may pass while the probe is quiet
        self._passed: list[Vitals] = []  # of steps that passed, not in the history yet
        self._jumps, self._next_look = Jumps(), 0
        self._eval_steps = 0  # consecutive steps in evaluation mode
        self._unreturned: list[Finding] = []  # found while waiting; returned by the next call
        self._closed = self._retired = self._interrupted = False
        try:
            self._plan()
        except Exception:  # a function for `every` that fails
            Doctor.close(self)  # a subclass is not complete yet
            raise
        self._governor.start(on_cpu)

    def step(
        self,
        loss: Tensor | float | None = None,
        *,
        outputs: Tensor | None = None,
        targets: Tensor | None = None,
        **metrics: Tensor | float,
    ) -> list[Finding]:
        """Tell the doctor that a training step was made; return what it found.

        Values passed between two optimizer steps (gradient accumulation) are averaged.

        Args:
            loss: The loss, preferably the tensor itself, because its graph shows how it was
                computed.
            outputs: What the loss compared with the targets; not needed for losses of `torch.nn`.
            targets: What the outputs should have been; also not needed for losses of `torch.nn`.
            metrics: Other numbers of the step; `accuracy` is used if given.
        """
        start = perf_counter()
        if self._log.to_raise and (found := self._guard.run("stopping", self._log.pop_to_raise)):
            raise Diagnosed(found)
        try:  # not by the guard's `run`: every microsecond counts here
            if self._probe.quiet and self._pass(loss, metrics, start):
                return []
            if self._probe.batch.due:
                self._guard.run("batch", self._probe.batch.use, loss, outputs, targets)
            if "doctor" not in self._guard.off:
                return self._step(loss, metrics, start)
        except Exception as error:
            self._guard.fail("doctor", error)
        self._guard.run("retiring", self._retire)
        return []

    def epoch(self, **metrics: Tensor | float) -> list[Finding]:
        """Tell the doctor that an epoch is over, with its metrics; return what it found."""
        return self._guard.run("doctor", self._end_epoch, metrics) or []

    def end(self) -> list[Finding]:
        """Tell the doctor that the run is complete; return what it finds in the run as a whole."""
        return self._guard.run("end of the run", self._end_run) or []

    def close(self) -> None:
        """Judge the run as a whole, remove every hook and finish the chart. The findings stay."""
        if not self._closed:
            self._closed = True
            self._guard.run("passed steps", self._add_passed)
            self._guard.run("doctor", self._wait)
            if not self._interrupted:
                self._unreturned += self._guard.run("end of the run", self._end_run) or []
            self._guard.run("retiring", self._retire)
            self._guard.run("run log", self._log.close)

    def __enter__(self) -> Doctor:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._interrupted = error is not None
        self.close()

    def _pass(self, loss: Any, metrics: Mapping[str, Any], start: float) -> bool:
        """Let a step pass without bookkeeping; return False if it needs some.

        In a loop of a few milliseconds a step, bookkeeping at every step would cost too much.
        """
        if type(loss) is Tensor and not metrics and not loss.ndim:
            numbers = {"loss": loss.item()}
        else:
            numbers = as_numbers(named(loss, metrics), self._log.notice)
        probe = self._probe
        rose = self._jumps.rises(numbers.get("loss", 0.0))
        if self._intake.calls or rose or probe.in_eval or not probe.was_uneventful():
            return False
        self._jumps.forget()
        step = self._history.step + len(self._passed) + 1
        vitals = Vitals(step, self._history.epoch, time(), numbers)
        self._log.vitals(vitals)
        self._passed.append(vitals)
        self._uneventful -= 1
        probe.quiet = self._uneventful > 0
        self._clock.passing += perf_counter() - start
        return True

    def _step(self, loss: Any, metrics: Mapping[str, Any], start: float) -> list[Finding]:
        if self._closed:
            return []
        charged = self._clock.total
        passed = self._add_passed()
        stepped = self._intake.add(loss, metrics)
        if "probe" in self._guard.off:
            self._retire()
        new = self._receive()
        self._clock.add_rest("bookkeeping", start, charged)
        start, charged = self._governor.end_steps(passed + 1), self._clock.total
        if stepped:
            if self._treater is not None:
                self._treater.act(self._judge.standing)
            self._plan()
            self._clock.add_rest("bookkeeping", start, charged)
        elif self._intake.misses_steps:
            self._log.notice(UNMOVED)
        return new

    def _end_epoch(self, metrics: Mapping[str, Any]) -> list[Finding]:
        if self._closed:
            return []
        self._add_passed()
        new = self._receive(wait=True)
        numbers = as_numbers(metrics, self._log.notice)
        self._log.end_epoch(numbers)
        self._history.end_epoch(**numbers)
        self._judge.end_epoch(numbers)
        self._guard.run("probe", self._look_again)
        new += self._ask_judge()
        self._guard.run("report", self._log.report, self._judge.standing)
        if self._treater is not None:
            self._treater.act(self._judge.standing)
        return new

    def _receive(self, wait: bool = False) -> list[Finding]:
        """Take every complete step; with `wait`, also those whose values are still on a GPU."""
        new, self._unreturned = self._unreturned, []
        for vitals, collected in self._intake.complete(wait):
            new += self._take(vitals, collected)
        return new

    def _wait(self) -> None:
        """Wait for all values. The next step or epoch returns what is found."""
        self._unreturned = self._receive(wait=True)

    def _end_run(self) -> list[Finding]:
        """Judge the run once more, as a whole."""
        if self._history.ended:
            return []
        self._history.ended = True
        return self._ask_judge() if self._history.step >= 0 else []

    def _take(self, vitals: Vitals, collected: Collected) -> list[Finding]:
        """Add a step to the history; judge if there is a reason to."""
        step = vitals.step
        self._history.append(vitals)
        self._judge.add(vitals)
        self._log.vitals(vitals)
        if collected.skipped:
            self._log.event("skipped_step", "a gradient scaler dropped the step")
        if collected.no_activations:
            self._log.notice(UNHEARD)
        if step >= self._next_look or collected.learnt:
            self._next_look = step + REFRESH
            self._guard.run("probe", self._look_again, collected.learnt)
        self._eval_steps = self._eval_steps + 1 if vitals.scalars.get("in_eval") else 0
        unusual = self._jumps.are_in(vitals.scalars) or collected.unusual
        if unusual:
            self._governor.look_closer(self._intake.step + 1)
        eventful = unusual or collected.alarm or 0 < self._eval_steps < EVAL_STEPS
        return self._ask_judge() if eventful or self._governor.judging_due(step) else []

    def _add_passed(self) -> int:
        """Add the steps that passed to the history; return how many."""
        passed, self._passed = self._passed, []
        for vitals in passed:
            self._history.append(vitals)
            self._judge.add(vitals)
        return len(passed)

    def _ask_judge(self) -> list[Finding]:
        with self._clock.timing("judging"):
            verdict = self._judge.judge(self._history)
        with self._clock.timing("printing"):
            return self._log.verdict(verdict, self._judge.standing)

    def _look_again(self, learnt: bool = False) -> None:
        """Check whether the model has changed, and update the history's setup."""
        changed, history = self._probe.refresh(), self._history
        if changed or learnt or not history.setup.layers:
            setup = self._probe.setup(history.setup)
            history.setup = replace(setup, since=history.step) if changed else setup
            self._log.setup(history.setup)

    def _plan(self) -> None:
        """Choose what to read at the next step."""
        probe = self._probe
        following = self._intake.step + 1
        due = self._governor.due(following) if not probe.meter.full else set()
        self._guard.run("probe", probe.arm, due)
        may_pass = not due and len(probe.held.optimizers) == 1 and not probe.meter.late
        self._uneventful = self._governor.uneventful(following) if may_pass else 0
        if self._treater is not None:
            self._uneventful = min(self._uneventful, self._treater.may_pass)
        probe.quiet = self._uneventful > 0

    def _retire(self) -> None:
        """Remove every hook: their readings would no longer be collected."""
        if not self._retired:
            self._retired, self._probe.quiet = True, False
            self._guard.run("end of probing", self._probe.close)
            watched_models.unregister(self._probe.layers.model)
            if self._treater is not None:
                self._guard.run("end of treatment", self._treater.close)
