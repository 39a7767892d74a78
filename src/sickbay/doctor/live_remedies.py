"""Choose the remedy to apply to a running loop, and limit how often."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.optim import SGD

from sickbay.doctor.snapshots import Snapshots, rates
from sickbay.doctor.step_adjustments import StepAdjuster
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.probe import Probe
from sickbay.problems import Problem
from sickbay.recipe import Recipe
from sickbay.remedies import Remedy, RollBack
from sickbay.remedies.by_problem import CHOICES
from sickbay.remedies.odds import ranked

APART = 50  # steps between two treatments of the same problem
MOST = 5  # treatments of the same problem in a run
FLOOR = 0.01  # of the initial learning rate; treatment goes no lower
LIVE = ("clip_norm", "clip_value", "train_mode", "rollbacks")  # settings of a recipe, beside `lr`


class LiveRemedies:
    """Chooses among the remedies that can be applied to a running loop, within limits."""

    def __init__(
        self,
        probe: Probe,
        history: History,
        adjuster: StepAdjuster,
        snapshots: Snapshots,
        problems: Mapping[str, Problem],
        remedies: Mapping[str, Sequence[Remedy]] | None = None,
    ) -> None:
        self._model, self._guard = probe.layers.model, probe.guard
        self._optimizers = probe.held.optimizers
        self._history, self._adjuster, self._snapshots = history, adjuster, snapshots
        self._problems, self._choices = problems, CHOICES if remedies is None else remedies
        self._start = max(rates(self._optimizers[0]), default=0.0)
        self._counts: Counter[str] = Counter()  # treatments, by problem
        self._last: dict[str, int] = {}  # the step of the last one, by problem
        self._rollbacks = 0

    def choose(self, finding: Finding, lasting: bool = False) -> tuple[Remedy, Recipe] | None:
        """Return the best remedy for a finding and the recipe it leads to, or None.

        `lasting` means that the weights are damaged, which smaller steps do not repair.
        """
        problem = finding.problem
        if not self._may_treat(problem):
            return None
        remedies = ranked(
            problem, [each for each in self._choices.get(problem, ()) if each.safety == "live"]
        )
        if lasting:
            remedies.sort(key=lambda each: not isinstance(each, RollBack))
        judged = self._problems.get(problem)
        if judged is not None and judged.batches_are_skipped:  # only lost weights are left to treat
            remedies = [each for each in remedies if isinstance(each, RollBack)]
        now = self.recipe()
        for remedy in remedies:
            part = f"remedy {remedy.name()}"
            new = self._guard.run(part, remedy.prescribe, finding, now)
            if new is not None and self._is_allowed(now, new):
                return remedy, new
        return None

    def count(self, finding: Finding, remedy: str) -> None:
        """Count a treatment."""
        self._counts[finding.problem] += 1
        self._last[finding.problem] = self._history.step
        self._rollbacks += remedy == RollBack.name()

    def recipe(self) -> Recipe:
        """Return the settings of the running loop that a live remedy may read."""
        live = next(each for each in self._optimizers if each not in self._adjuster.left_alone)
        groups = [
            {"params": group["params"], "lr": float(group.get("lr", 0.0))}
            for group in live.param_groups
        ]
        return Recipe(
            self._model,
            _no_loss,
            StandIn(groups),
            clip_norm=self._adjuster.clip_norm,
            clip_value=self._adjuster.clip_value,
            skip_bad_batches=True,
            train_mode=self._model.training,
            rollbacks=RollBack().most if self._snapshots.healthy is None else self._rollbacks,
            setup=self._history.setup,
        )

    def _may_treat(self, problem: str) -> bool:
        alone = len(self._adjuster.left_alone) == len(self._optimizers)
        apart = self._history.step - self._last.get(problem, -APART) >= APART
        return not alone and apart and self._counts[problem] < MOST

    def _is_allowed(self, now: Recipe, new: Recipe) -> bool:
        """Return whether a recipe changes something, and leaves enough of the learning rate."""
        if new.lr == now.lr:
            return any(getattr(new, name) != getattr(now, name) for name in LIVE)
        return self._adjuster.factor * new.lr >= FLOOR * max(now.lr, self._start)


class StandIn(SGD):
    """The optimizer in a loop's recipe. Remedies rebuild it, which not every optimizer allows.

    A subclass, because torch patches the class of every optimizer it creates.
    """


def _no_loss(*_: Any) -> Tensor:
    raise NotImplementedError("a running loop computes its own loss")
