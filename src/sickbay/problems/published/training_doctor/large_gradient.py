from sickbay.problems.published.training_doctor.norm_outlier_base import NormOutlierProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class LargeGradient(NormOutlierProblem):
    """The global gradient norm is large, or jumps above its recent level.

    Why it matters:
        One oversized step can undo many good ones.

    How it is judged:
        The newest norm is above `limit`, or exceeds the mean of the `window` norms before it by
        more than `sigmas` standard deviations, which needs a full window.

    Example:
        >>> history = History(grad_norm=[1.0, 1.5, 1.0, 1.5, 4.0])
        >>> print(LargeGradient(window=4).check(history).message)
        gradient norm 4 (limit 2)

    Reference:
        Training Doctor (authors not named); thresholds as given there.
    """

    advice = "halve the learning rate, and clip the gradient norm to 1"

    limit: float = threshold(10.0, "Gradient norm that is too large at any time.", above=0)

    def check(self, history: History) -> Finding | None:
        return self.outlier(history, sign=1)
