"""The search for a cure: the runs so far, what they cost, and the best of them.

Which run comes next is up to a strategy, see `Race` and `AutoTrainer`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter

from sickbay.errors import SickbayError
from sickbay.findings import Finding
from sickbay.problems import Underfitting
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy
from sickbay.remedies import odds as counted
from sickbay.repairs.callbacks import Callback, EpochEnd, call_all
from sickbay.repairs.doubts import doubt_about
from sickbay.repairs.executor import WorkerExecutor
from sickbay.repairs.journal import Journal
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.prescribing import prescribed
from sickbay.repairs.run import Run, Update, Weights
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.scoring import key
from sickbay.repairs.training_loop import SETBACK
from sickbay.repairs.user_loop import UserLoopExecutor
from sickbay.repairs.yardsticks.measure import Yardsticks

UNDERFITTING = Underfitting.name()
RANK = attrgetter("rank")  # of a run


class Search:
    """Starts runs, trains them within a budget of epochs, and records them."""

    def __init__(
        self,
        recipe: Recipe,
        settings: RunSettings,
        executor: WorkerExecutor | UserLoopExecutor,
        journal: Journal,
        remedies: Mapping[str, Sequence[Remedy]],
        budget: float,
        most: float | None = None,
        yardsticks: Yardsticks | None = None,
        fixed_batches: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.original, self.settings, self.executor = recipe, settings, executor
        self.journal, self._budget, self._most = journal, budget, budget if most is None else most
        self._yardsticks = yardsticks or Yardsticks(None)
        self._remedies, self._fixed_batches = remedies, fixed_batches
        self._callbacks = callbacks
        self.runs: list[Run] = []
        self._counts: list[tuple[str, Remedy, bool]] = []

    def __enter__(self) -> Search:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for run in self.runs:
            if kind is not None and not run.result:
                self.journal.keep_unfinished(run, now=True)
            self.executor.close(run)

    @property
    def spent(self) -> float:
        """Epochs that all runs have taken."""
        return sum(run.progress.epochs for run in self.runs)

    @property
    def best(self) -> Run:
        """The run with the best score that meets its yardstick, if any; the first of equals."""
        return max(self.runs, key=RANK)

    @property
    def budget(self) -> float:
        """Epochs that all runs may take: more as long as none meets the yardstick."""
        known = any(run.yardstick.known for run in self.runs)
        met = any(run.progress.scores and self.suffices(run) for run in self.runs)
        return self._most if known and not met else self._budget

    @property
    def usual_budget(self) -> float:
        """Epochs that all runs may take, once one meets the yardstick."""
        return self._budget

    def succeeds(self, run: Run) -> bool:
        """Return whether the score of a run may be called a success, as the best of all runs."""
        score = run.progress.score
        sure = run.yardstick.is_surely_met(score, self._compared)
        return sure or self.settings.reached(score)

    def suffices(self, run: Run) -> bool:
        """Return whether a run needs no more repair, even if nobody can be sure of its score."""
        score = run.progress.score
        return run.yardstick.is_near(score, self._compared) or self.settings.reached(score)

    @property
    def _compared(self) -> int:
        return max(1, sum(bool(each.progress.scores) for each in self.runs))

    def affords(self, epochs: int = 1) -> bool:
        """Return whether so many more epochs are within the budget."""
        return self.spent + epochs <= self.budget

    def start(
        self,
        recipe: Recipe,
        parent: Run | None = None,
        finding: Finding | None = None,
        remedy: Remedy | None = None,
        weights: Weights | None = None,
        done: int = 0,
    ) -> Run:
        """Start a run, or restore it if an earlier session has finished it.

        Its weights have had `done` of its planned epochs before.
        """
        treatable = {
            problem
            for problem, some in self._remedies.items()
            if any(each.applies(recipe) for each in some)
        }
        yardstick = self._yardsticks.of(recipe)
        run = Run(len(self.runs), recipe, parent, finding, remedy, treatable, yardstick, done)
        if not self.journal.restore(run, self.epochs_of(run)):
            self.executor.start(run, weights, self.journal.chart(run))
        self.runs.append(run)
        self._show(run)
        return run

    def advance(self, runs: Sequence[Run], epochs: int, stop_at_findings: bool = True) -> None:
        """Train runs for one heat of so many epochs, as far as the budget goes."""
        left = (self.budget - self.spent) / max(1, len(runs))
        self._advance(runs, min(epochs, max(1, int(left))), stop_at_findings)

    def complete(self, run: Run) -> None:
        """Train a run to its end, even if the budget is cut because it does well."""
        self._advance([run], min(self.epochs_of(run), max(1, int(self._most - self.spent))))

    def _advance(self, runs: Sequence[Run], epochs: int, stop_at_findings: bool = True) -> None:
        self._release()
        new = [run for run in runs if not (run.recorded or run.progress.stopped)]
        self.executor.advance(new, epochs, stop_at_findings, self._on_epoch)
        for run in runs:
            if run.recorded:
                run.progress = run.recorded[min(len(run.heats), len(run.recorded) - 1)]
            run.heats.append(run.progress)
            self._show(run)

    def _on_epoch(self, run: Run, update: Update) -> bool:
        """Take over what an epoch changed. Return whether a callback stops the run."""
        before = len(run.progress.scores)
        run.take(update)
        self._show(run)
        self.journal.keep_unfinished(run)
        scores = run.progress.scores
        if len(scores) <= before:  # it was stopped halfway
            return False
        ended = EpochEnd(run.number, len(scores) - 1, dict(scores[-1]), update.score, run.name)
        if stopped := call_all(self._callbacks, ended):
            run.progress = replace(run.progress, stopped=True)
        return stopped

    def _show(self, run: Run) -> None:
        best = max((each.progress.score for each in self.runs), default=-inf)
        left = [self.epochs_of(run) - run.progress.epochs for run in self.runs if not run.result]
        total = self.spent + min(left, default=float(self.settings.epochs))
        self.journal.bar.show(run.name, self.spent, min(self.budget, total), best)

    def begin(self) -> Run:
        """Train the recipe as given. Raise `SickbayError` if that fails."""
        run = self.start(self.original)
        self.advance([run], self.epochs_of(run))
        if run.progress.failed:
            text = f"The model as given could not be trained: {run.progress.failed}"
            raise SickbayError(text) from run.progress.error
        return run

    def epochs_of(self, run: Run) -> int:
        """Return the epochs of a run, with its cooldown."""
        return self.settings.of(run).epochs_of(run.recipe) + run.recipe.cooldown

    def is_complete(self, run: Run) -> bool:
        """Return whether a run had all its epochs, or was done before."""
        progress = run.progress
        counted = bool(progress.scores)  # a user's loop may report no epochs
        ended = progress.stopped or progress.epochs >= self.settings.of(run).epochs_of(run.recipe)
        return self.settings.reached(progress.score) or not counted or ended

    def train_to_the_end(self) -> None:
        """Train the original recipe whatever is found, as far as the budget goes.

        If it only fell short, it had all its epochs before.
        """
        first, found = self.runs[0].progress, self.runs[0].result
        done = found == UNDERFITTING and first.epochs >= self.settings.epochs_of(self.original)
        if self.affords() and not done:
            run = self.start(self.original)
            self.advance([run], self.epochs_of(run), stop_at_findings=False)
            self.finish(run, "taken to its end")

    def finish(self, run: Run, result: str = "") -> None:
        """End a run for good, by default with what stopped it as the result."""
        stopped = run.progress.finding
        run.result = result or (stopped.problem if stopped else f"failed: {run.progress.failed}")
        run.heats = [replace(each, error=None) for each in run.heats]  # tracebacks hold batches
        run.progress = replace(run.progress, error=None)
        self.journal.finish(run)
        self.executor.close(run)
        self._release(run)

    def _release(self, *ended: Run) -> None:
        """Free finished runs, except the best one and those that other runs may start from.

        Those are the parents of unfinished runs, the run that has just ended, and its parent.
        """
        over = [run for run in self.runs if run.result]
        needed = {run.parent for run in self.runs if not run.result or run in ended}
        needed |= {max(over, key=RANK, default=None), *ended}
        for run in over:
            if run not in needed:
                run.release()

    def prescribe(self, run: Run, finding: Finding) -> list[tuple[Remedy, Recipe]]:
        """Return the remedies for a finding and the recipes they make. Report those that fail."""
        remedies = self._remedies.get(finding.problem, ())
        made = prescribed(remedies, finding, run, self.journal.say)
        same = run.recipe.batch_size if self._fixed_batches else None
        return [each for each in made if same is None or each[1].batch_size == same]

    def cured(self, run: Run, solved: bool) -> Outcome:
        """Return the outcome of a search that ended with a healthy run.

        If another run was far better, its model is returned, and the search has failed.
        """
        best = self.best
        same = best.yardstick.metric == run.yardstick.metric
        if same and best.rank > run.rank and best.progress.score > run.progress.score + SETBACK:
            return self.failed()
        reached = self.settings.target is None or self.settings.reached(run.progress.score)
        return self._outcome(run, solved and reached)

    def failed(self) -> Outcome:
        """Return the outcome if nothing helped: the best model seen, or the one given."""
        best, start = self.best, key(self.runs[0].progress.start)
        if start > best.progress.score and not self.runs[0].is_misled:
            given = copy.deepcopy(self.original.model)
            kept = replace(self._outcome(best, solved=False), doubt="training made it worse")
            return replace(kept, model=given, recipe=self.original, score=start, history=())
        return self._outcome(best, self.settings.reached(best.progress.score))

    def _outcome(self, best: Run, solved: bool) -> Outcome:
        model = copy.deepcopy(best.recipe.model)
        model.load_state_dict(best.best)
        recipe, cooldown = best.recipe, self.original.cooldown
        planned = self.settings.of(best).epochs_of(recipe)
        if recipe.cooldown != cooldown and best.progress.epochs <= planned:
            recipe = replace(recipe, cooldown=cooldown)  # it ended before that
        first = self.runs[0].progress
        trained, led = first.scores or not first.start, dict.fromkeys([self.runs[0], *best.path])
        return Outcome(
            model=model,
            recipe=recipe,
            original=self.original,
            solved=solved,
            score=best.progress.score,
            before=first.score if trained else key(first.start),
            findings=[each for run in led for each in run.progress.findings],
            attempts=[run.attempt for run in self.runs],
            history=best.progress.scores,
            constant=best.yardstick.constant,
            reference=best.yardstick.reference,
            trained=best.yardstick.trained,
            doubt="" if solved else doubt_about(best, self.settings, self._compared, led),
            chart=self.journal.path,
        )

    def count(self, run: Run, worked: bool) -> None:
        """Count whether a remedy worked and gained anything. `save_counts` adds it to the odds."""
        if run.remedy is not None:
            gained = worked and run.has_gained(self._compared)
            self._counts.append((run.problem, run.remedy, gained))

    def save_counts(self) -> None:
        """Add what the remedies did to the odds of this user."""
        for problem, remedy, worked in self._counts:
            counted.note(problem, remedy, worked)
