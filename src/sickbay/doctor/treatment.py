"""Treat a running loop: apply remedies within limits, and undo them on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite

from torch import nn

from sickbay.doctor.live_remedies import LiveRemedies
from sickbay.doctor.snapshots import LEVEL, Snapshot, Snapshots, rates, tensors
from sickbay.doctor.step_adjustments import IN_A_ROW, LATELY, Adjustment, StepAdjuster
from sickbay.doctor.watch_arguments import Watched
from sickbay.findings import Finding
from sickbay.probe.distributed import is_one_of_several
from sickbay.probe.finite import all_finite
from sickbay.probe.layer_order import RATE_JUMP
from sickbay.probe.probe import Probe
from sickbay.problems import NonFinite
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy, SkipBadBatches

PATIENCE = 3  # losses after a jump that show whether it lasts
SAID = 10  # skipped batches that are printed; further ones are only recorded
NON_FINITE = NonFinite.name()  # the problem that batches are skipped for
SKIP = SkipBadBatches.name()
ALONE = "an optimizer that is stepped with a closure is not treated."
SICK = (
    f"{IN_A_ROW} batches in a row, or more than half of the last {LATELY}, had a gradient that is "
    "not finite: the batches are not to blame. None is skipped until healthy weights are restored."
)
PARTED = (
    "several processes train together now, and each would treat its own copy of the model: "
    "treatment has ended."
)


@dataclass(frozen=True)
class Treatment:
    """Something that was done to the running loop.

    Attributes:
        step: The step after which it was done.
        problem: The problem it was done for.
        remedy: The name of the remedy.
        text: What was done and why.
    """

    step: int
    problem: str
    remedy: str
    text: str
    _undo: Callable[[Treatment], bool] = field(repr=False, compare=False)

    def undo(self) -> bool:
        """Undo it; return False if that is not possible, or was done already."""
        return self._undo(self)


class Treater:
    """Treats a running loop: `plan` takes findings, `act` treats them after a step."""

    def __init__(self, probe: Probe, watched: Watched) -> None:
        self.treatments: list[Treatment] = []
        self._model, self._history, self._log = probe.layers.model, watched.history, watched.log
        self._guard, self._clock = probe.guard, probe.clock
        self._log.plan = self.plan
        self._adjuster = StepAdjuster(probe)
        budget = watched.governor.budget
        self._snapshots = Snapshots(self._model, probe.held.optimizers, self._history, budget)
        self._problems = {each.name(): each for each in (NonFinite(), *watched.problems)}
        self._remedies = LiveRemedies(
            probe, self._history, self._adjuster, self._snapshots, self._problems, watched.remedies
        )
        self._planned: list[Finding] = []
        self._jumps: list[tuple[Finding, float]] = []  # with the highest loss before it
        self._restored = False  # buffers, after a bad batch
        self._over = False

    @property
    def may_pass(self) -> int:
        """How many steps may pass before `act` must be called again, if nothing happens."""
        return 0 if self._jumps else self._snapshots.may_pass

    def plan(self, finding: Finding, cause: str = "") -> bool:
        """Take a finding; return whether it is, or may be, treated.

        If another finding explains it, only damage to the weights is treated separately. A skipped
        batch explains nothing, because it did not reach the weights.
        """
        if self._is_over():
            return False
        planned = self._plan(finding, cause)
        for problem in finding.consequences:
            damage = replace(finding, problem=problem, consequences=())
            planned |= self._is("loss_may_recover", problem) and self._plan(damage, finding.problem)
        return planned

    def _plan(self, finding: Finding, cause: str) -> bool:
        may_recover = self._is("loss_may_recover", finding.problem)
        if cause and not self._is("batches_are_skipped", cause) and not may_recover:
            return False
        if self._is("batches_are_skipped", finding.problem) and not self._are_weights_lost():
            return self._restored or bool(self._adjuster.skipped)
        if self._remedies.choose(finding) is None:
            return False
        losses = self._history.recent("loss", LEVEL + 1)[:-1]
        high = max(filter(isfinite, losses), default=inf)
        if may_recover and high < inf:
            self._jumps.append((finding, high))
        else:
            self._planned.append(finding)
        return True

    def act(self, standing: Sequence[str]) -> None:
        """Do what is due after a step, while the problems in `standing` are present."""
        if self._guard.run("treatment", self._is_over):
            return
        with self._clock.timing("treatment"):
            spared = all(self._is("spares_weights", problem) for problem in standing)
            ill = not spared or self._adjuster.alarmed
            calm = not (ill or self._jumps or self._planned)
            self._guard.run("treatment", self._act)
            self._guard.run("snapshot", self._snapshots.look, calm)

    def close(self) -> None:
        """Remove the hooks: learning rates and gradients are the loop's own again."""
        self._adjuster.close()
        self._snapshots.close()

    def _is_over(self) -> bool:
        """Return whether treatment has ended, as it does when several processes train together."""
        if not self._over and (self._adjuster.over or is_one_of_several()):
            self._over = self._adjuster.over = True
            self._snapshots.close()
            self._log.notice(PARTED)
        return self._over

    def _act(self) -> None:
        if self._adjuster.left_alone:
            self._log.notice(ALONE)
        for reason in self._adjuster.skipped:
            self._note_skipped(f"skipped the batch: {reason}")
        planned, self._planned = self._planned, []
        for finding in planned:
            self._treat(finding)
        if self._adjuster.alarmed or not all(map(isfinite, self._history.recent("loss", 1))):
            self._treat_not_finite()
        for jump in list(self._jumps):
            if jump in self._jumps:  # a rollback settles them all
                self._treat_jump(*jump)
        self._adjuster.forget()

    def _treat(self, finding: Finding, lasting: bool = False) -> bool:
        """Apply the best remedy; return False if there is none, or if no more is allowed."""
        choice = self._remedies.choose(finding, lasting)
        if choice is not None:
            self._carry_out(finding, *choice)
        return choice is not None

    def _treat_not_finite(self) -> None:
        """Roll back if the weights are lost, or if they turn every batch into a bad one."""
        finding = Finding(problem=NON_FINITE, step=self._history.step)
        adjuster, lost = self._adjuster, self._are_weights_lost()
        if self._restored:  # a gradient scaler dropped the step, but not what forward changed
            self._restored = False
            self._note_skipped("put back the buffers that a bad batch had written to")
        if adjuster.sick or lost:
            rolled_back = self._treat(finding)
            if not rolled_back and adjuster.sick and adjuster.skipping:
                self._log.notice(SICK)

    def _treat_jump(self, finding: Finding, high: float) -> None:
        since = [loss for step, loss in self._history.timed("loss", LEVEL) if step > finding.step]
        recovered = any(loss <= high for loss in since)
        if not recovered and len(since) < PATIENCE:
            return
        self._jumps.remove((finding, high))
        if recovered:
            because = f"{finding.title} at step {finding.step}"
            self._log.notice(f"the loss recovered by itself after {because}; nothing is done.")
        else:
            self._treat(finding, lasting=True)

    def _carry_out(self, finding: Finding, remedy: Remedy, new: Recipe) -> None:
        now, name = self._remedies.recipe(), remedy.name()
        snapshot = self._snapshots.healthy
        if new.rollbacks > now.rollbacks and snapshot is not None:
            self._roll_back(finding, name, snapshot)
        elif new.train_mode > now.train_mode:
            modes = [(module, module.training) for module in self._model.modules()]
            self._model.train()
            text = "put the model into training mode"
            self._note(finding, name, text, lambda: _set_modes(modes))
        else:
            adjustment = Adjustment.between(now, new)
            self._adjuster.adjustments.append(adjustment)
            text = adjustment.words(self._adjuster.factor)
            self._note(finding, name, text, lambda: self._adjuster.drop(adjustment))

    def _roll_back(self, finding: Finding, name: str, snapshot: Snapshot) -> None:
        risen = [
            each
            for each, kept in snapshot.rates.items()
            if any(now > RATE_JUMP * old > 0 for now, old in zip(rates(each), kept, strict=False))
        ]
        adjustment = Adjustment(caps={each: snapshot.rates[each] for each in risen})
        replaced = self._snapshots.go_back(snapshot)
        self._adjuster.resume()
        self._jumps.clear()
        text = f"went back to the weights of step {snapshot.step}"
        if risen:
            self._adjuster.adjustments.append(adjustment)
            text += f" and limited the learning rate to {max(snapshot.rates[risen[0]]):g}"
        self._note(finding, name, text, lambda: self._undo_rollback(replaced, adjustment))

    def _note(self, finding: Finding, name: str, text: str, undo: Callable[[], bool]) -> None:
        """Count, keep and print what was done about a finding."""
        self._remedies.count(finding, name)
        because = f"because of {finding.title} at step {finding.step}"
        self._keep(finding.problem, name, f"{text} {because}", undo)

    def _note_skipped(self, text: str) -> None:
        count = sum(each.remedy == SKIP for each in self.treatments) + 1
        text += " (further ones are not printed)" if count == SAID else ""
        self._keep(NON_FINITE, SKIP, text, self._stop_skipping, say=count <= SAID)

    def _keep(
        self, problem: str, name: str, text: str, undo: Callable[[], bool], say: bool = True
    ) -> None:
        def undo_it(treatment: Treatment) -> bool:
            done = bool(self._guard.run("treatment", undo))
            if done:
                self._log.treatment(f"undone: {treatment.text}")
            return done

        self.treatments.append(Treatment(self._history.step, problem, name, text, undo_it))
        self._log.treatment(text, say=say)

    def _stop_skipping(self) -> bool:
        was, self._adjuster.skipping = self._adjuster.skipping, False
        return was

    def _undo_rollback(self, replaced: Snapshot, adjustment: Adjustment) -> bool:
        possible = self._snapshots.replaced is replaced and replaced.fits
        if possible:
            replaced.restore()
            self._snapshots.replaced = None
            self._adjuster.drop(adjustment)
        return possible

    def _is(self, trait: str, problem: str) -> bool:
        """Return whether a problem has a trait, such as `loss_may_recover`."""
        return bool(getattr(self._problems.get(problem), trait, False))

    def _are_weights_lost(self) -> bool:
        """Return whether weights, or buffers that cannot be restored, are not finite."""
        self._restored |= self._adjuster.restore_buffers()
        return not all_finite(tensors(self._model))


def _set_modes(modes: Sequence[tuple[nn.Module, bool]]) -> bool:
    for module, training in modes:
        module.training = training
    return True
