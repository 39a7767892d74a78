from math import isfinite

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import LOOK_BACK, pooled
from sickbay.problems.shared.training_score import training_score
from sickbay.vitals import rms

THROWN = -1e3  # share of variance explained by a model that its targets have thrown off
GROWN = 10.0  # times the first loss, by which a loss grows on its way to overflow
MEAN = 0.1  # share of variance explained by a model that has learnt the mean, at most


@dataclass(frozen=True, kw_only=True)
class UnscaledTargets(Problem):
    """The targets are far larger than what the model puts out, and it does not get there.

    Why it matters:
        Initial weights and common learning rates are made for targets around 1. Larger ones take
        thousands of steps to reach, or make the first gradients far too large.

    How it is judged:
        In a regression, the root mean square of the targets is above `size`. From step `after` on,
        the model still explains less of their variance than their mean does; or its errors have
        grown a thousand times as large as the targets' spread; or its loss is not finite after it
        had grown, and the inputs are.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(task="regression"), score=50 * [-4.0], constant_score=50 * [0])
        >>> rows = {"target": {"norm": 4000, "count": 100}, "output": {"norm": 5, "count": 100}}
        >>> history.add_table("batch", rows, step=49)
        >>> print(UnscaledTargets().check(history).message)
        targets are around 400 (limit 10), outputs around 0.5

    Reference:
        Bishop (1995), Neural networks for pattern recognition, section 8.2, on rescaling outputs.
    """

    advice = "scale the targets to a mean of 0 and a deviation of 1, and scale predictions back"
    reads = ("batch",)
    explains = ("non_finite", "improper_output", *EVERYTHING)

    size: float = threshold(10.0, "Root mean square of the targets that is too large.", above=0)
    after: int = threshold(40, "Steps to wait for the outputs to get there.", least=0)

    def check(self, history: History) -> Finding | None:
        if history.setup.task != "regression":
            return None
        tables = history.tables("batch", LOOK_BACK)
        target, output = pooled(tables, "target"), history.batch("output")
        size = rms(target) if target else 0.0
        if not size > self.size or not self._misses(history):
            return None
        message = f"targets are around {size:.3g} (limit {self.size:g})"
        message += f", outputs around {rms(output):.3g}" if isfinite(rms(output)) else ""
        return self.found(history, message, size=size)

    def _misses(self, history: History) -> bool:
        thrown = history.latest("score") < THROWN or overflows(history)
        score = training_score(history, self.after)
        # A loss that broadcasts teaches no more than the mean.
        limit = MEAN if history.setup.stretched else 0.0
        return thrown or (score is not None and score.score < limit)


def overflows(history: History) -> bool:
    """Return whether the loss is not finite because it grew until then, not because of the inputs.

    >>> losses = [9.0, 2e9, float("inf")], [9.0, 8.0, float("nan")]
    >>> [overflows(History(loss=each)) for each in losses]
    [True, False]
    """
    if isfinite(history.latest("loss")) or history.batch("input").get("nonfinite", 0) > 0:
        return False
    return history.best("loss") > GROWN * history.first("loss")
