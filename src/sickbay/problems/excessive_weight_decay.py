"""Longer than 60 lines: decay shows by its force, and at the end of a run by its size alone."""

from dataclasses import replace
from math import nan

import numpy as np

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.training_score import training_score

DECOUPLED = ("AdamW", "SGDW", "Lion", "Muon")  # shrink the weights directly, by rate times decay


@dataclass(frozen=True, kw_only=True)
class ExcessiveWeightDecay(Problem):
    """Weight decay pulls about as hard as the loss does.

    Why it matters:
        The weights shrink towards 0 whatever the data say, and the answers become constant.

    How it is judged:
        The weight decay is at least `decay`. In the last `checks` readings of gradients and
        weights, it pulls a typical kernel with more than `ratio` of the force of the gradient. For
        optimizers such as AdamW, whose decay is apart from the gradient, it makes up more than
        `ratio` of an update. A model whose typical kernel has grown since its first reading is left
        alone: near an optimum both forces are alike, and decay does harm only where weights shrink.
        The severity is `info`, and it is told at the end of the run, if the model gets `learnt` of
        what a constant answer gets wrong, if only two readings show it, or if the decay is weaker,
        but at least `mild` and part of the gradient. So is a decay of `unusual` times 1e-4 (0.01
        where it is apart from the gradient), whatever its force, if the model gains less than
        `well`.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(optimizer="Adam", settings={"weight_decay": 0.5}))
        >>> for step in range(4):
        ...     history.add_table("gradient", {"a.weight": {"norm": 1.0}}, step)
        ...     history.add_table("weight", {"a.weight": {"norm": 3.0}}, step)
        >>> print(ExcessiveWeightDecay().check(history).message)
        weight decay 0.5 pulls 1.5 times as hard as the loss (limit 0.2)

    Reference:
        Loshchilov and Hutter (2019), Decoupled weight decay regularization.
    """

    advice = "use a weight decay of 1e-4, or 0.01 with AdamW"
    reads = ("weight", "end")
    explains = EVERYTHING

    decay: float = threshold(0.02, "Smallest weight decay that is too strong.", above=0)
    mild: float = threshold(0.01, "Smallest one that is told at the end of a run.", above=0)
    ratio: float = threshold(0.2, "Limit for its force, relative to the loss.", above=0)
    checks: int = threshold(4, "Readings that must show it.", least=1)
    learnt: float = threshold(
        0.7, "Gain over a constant answer of a model that learns in spite of it.", above=0, most=1
    )

    unusual: float = threshold(30.0, "Multiple of the usual decay that is unusual.", above=1)
    well: float = threshold(0.9, "Gain of a model that suffers from nothing.", above=0, most=1)
    after: int = threshold(70, "Steps needed to judge that gain.", least=0)

    def stands_alone(self, finding: Finding) -> bool:
        return "relative" in finding.evidence

    def check(self, history: History) -> Finding | None:
        return self._is_strong(history) or self._is_unusual(history)

    def _is_unusual(self, history: History) -> Finding | None:
        setup = history.setup
        decay = setup.settings.get("weight_decay", 0.0)
        usual = 0.01 if setup.optimizer in DECOUPLED else 1e-4
        score = training_score(history, self.after)
        unusual = history.ended and decay >= self.unusual * usual
        if not unusual or score is None or not score.gain < self.well:
            return None
        message = f"weight decay {decay:g}, {decay / usual:.3g} times as strong as usual for"
        message += f" {setup.optimizer}; the model {score}"
        found = self.found(history, message, relative=decay / usual, score=score.score)
        return replace(found, severity="info")

    def _is_strong(self, history: History) -> Finding | None:
        decay = history.setup.settings.get("weight_decay", 0.0)
        if decay < (self.decay if history.setup.optimizer in DECOUPLED else self.mild):
            return None
        forces = self._forces(history, decay)
        if len(forces) < min(2, self.checks) or not all(force > self.ratio for force in forces):
            return None
        score = training_score(history, self.checks)
        learns = score is not None and score.gain >= self.learnt
        mild = learns or decay < self.decay or len(forces) < self.checks
        if _have_grown(history) or (mild and not history.ended):
            return None
        message = f"weight decay {decay:g} pulls {forces[-1]:.2g} times as hard as the loss"
        finding = self.found(history, f"{message} (limit {self.ratio:g})", ratio=forces[-1])
        return replace(finding, severity="info") if mild else finding

    def _forces(self, history: History, decay: float) -> list[float]:
        """Return the force of the decay relative to that of the loss in the newest readings."""
        gradients = {table.step: table for table in history.tables("gradient", 32)}
        forces = []
        for weight in history.tables("weight", 32):
            gradient, rows = gradients.get(weight.step), history.kernels(weight)
            with np.errstate(all="ignore"):
                if history.setup.optimizer in DECOUPLED:
                    pulled = decay * history.latest("lr") / weight.column("update_ratio")[rows]
                elif gradient is not None and gradient.names == weight.names:
                    norms = gradient.column("norm")[rows]
                    pulled = decay * weight.column("norm")[rows] / norms
                else:
                    continue
            forces.append(float(np.median(pulled)) if len(pulled) else nan)
        return forces[-self.checks :]


def _have_grown(history: History) -> bool:
    """Return whether a typical kernel is larger now than at the oldest reading that is kept."""
    tables = history.tables("weight", 32)
    if not tables or tables[0].names != tables[-1].names:
        return False
    rows = history.kernels(tables[-1])
    with np.errstate(all="ignore"):
        growth = tables[-1].column("norm")[rows] / tables[0].column("norm")[rows]
    return len(growth) > 0 and float(np.median(growth)) > 1
