from collections.abc import Container
from math import sqrt

import numpy as np

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.problems.shared.problem_groups import NO_PROGRESS, SLOW
from sickbay.problems.shared.training_score import training_score
from sickbay.vitals import Table


@dataclass(frozen=True, kw_only=True)
class ExcessiveClipping(LearningProblem):
    """Clipping leaves almost nothing of any gradient.

    Why it matters:
        Clipping is for the rare gradient that is far too large. If it cuts every one, it is a
        learning rate that is far too low.

    How it is judged:
        Clipping divides the norm of the gradients that the optimizer uses by more than `factor`, in
        each of the last `checks` readings, and the model gains less than `gain` over a constant
        answer on its training batches from step `after` on. If that is not known, it must learn
        badly (see `loss_drop`).

    Example:
        >>> history = History(loss=[0.7] * 3)
        >>> for step in range(3):
        ...     history.add_table("raw_gradient", {"a.weight": {"norm": 2.0}}, step)
        ...     history.add_table("gradient", {"a.weight": {"norm": 1e-6}}, step)
        >>> print(ExcessiveClipping().check(history).message)
        clipping divides the gradient by 2e+06 (limit 50)

    Reference:
        Pascanu et al. (2013), On the difficulty of training recurrent neural networks, on choosing
        the threshold by the usual norm.
    """

    advice = "clip to a norm that only rare gradients exceed, such as 1 or 10"
    reads = ("gradient",)
    explains = ("plateau", *SLOW, *NO_PROGRESS)

    factor: float = threshold(50.0, "Limit for the factor that clipping takes off.", above=1)
    gain: float = threshold(0.7, "Gain of a model that learns well.", above=0)
    after: int = threshold(40, "Steps after which the gain counts.", least=0)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        used, unheld = history.tables("gradient", self.checks), history.setup.unheld
        raw = {table.step: table for table in history.tables("raw_gradient", self.checks)}
        clipped = [(raw[table.step], table) for table in used if table.step in raw]
        sizes = [(_size(before, unheld), _size(after, unheld)) for before, after in clipped]
        factors = [before / after for before, after in sizes if after]
        if len(factors) < self.checks or not min(factors) > self.factor:
            return None
        score = training_score(history, self.after)
        poor = self.learns_badly(history) if score is None else score.gain < self.gain
        if not poor:
            return None
        message = f"clipping divides the gradient by {factors[-1]:.2g} (limit {self.factor:g})"
        return self.found(history, message, factor=factors[-1])


def _size(table: Table, unheld: Container[str]) -> float:
    """Return the norm of all gradients together, without those that no optimizer uses."""
    held = [name not in unheld for name in table.names]
    return sqrt(float(np.nansum(table.column("norm")[held] ** 2)))
