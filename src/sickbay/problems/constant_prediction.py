from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem


@dataclass(frozen=True, kw_only=True)
class ConstantPrediction(LearningProblem):
    """The model gives the same answer for every input.

    Why it matters:
        A model that has settled on the best constant answer rarely starts to learn again.

    How it is judged:
        The outputs of a batch differ from sample to sample by less than `spread` of their size, in
        each of the last `checks` readings after step `after`. The targets must differ, and the
        model must learn badly (see `accuracy` and `loss_drop`).

    Example:
        >>> history = History(loss=60 * [2.3], output_spread=60 * [1e-6])
        >>> print(ConstantPrediction().check(history).message)
        outputs differ between samples by 1e-06 of their size (limit 0.001)

    Reference:
        Karpathy (2019), A recipe for training neural networks, on input-independent baselines.
    """

    advice = "look for dead or saturated layers, zero initial weights, and too much weight decay"
    reads = ("batch",)
    explains = ("slow_convergence",)

    spread: float = threshold(
        1e-3, "Limit for the spread of the outputs, relative to their size.", above=0
    )
    checks: int = threshold(5, "Readings in a row that must show it.", least=1)
    after: int = threshold(10, "Steps that are not judged.", least=0)

    def check(self, history: History) -> Finding | None:
        timed = history.timed("output_spread", self.checks)
        if len(timed) < self.checks or timed[0][0] < self.after:
            return None
        spread = max(value for _, value in timed)
        target = history.batch("target")
        differ = not target or target["minimum"] < target["maximum"]
        if not spread < self.spread or not differ or not self.learns_badly(history):
            return None
        message = (
            f"outputs differ between samples by {spread:.2g} of their size (limit {self.spread:g})"
        )
        return self.found(history, message, step=timed[-1][0], spread=spread)
