from sickbay.problems.published.training_doctor.norm_outlier_base import NormOutlierProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class SmallGradient(NormOutlierProblem):
    """The global gradient norm is tiny, or drops below its recent level.

    Why it matters:
        A model learns nothing without a gradient.

    How it is judged:
        The newest norm is below `limit`, or falls below the mean of the `window` norms before it by
        more than `sigmas` standard deviations, which needs a full window.

    Example:
        >>> history = History(grad_norm=[1.0, 1.5, 1.0, 1.5, 0.2])
        >>> print(SmallGradient(window=4).check(history).message)
        gradient norm 0.2 (limit 0.5)

    Reference:
        Training Doctor (authors not named); thresholds as given there.
    """

    advice = "double the learning rate, and look for saturated or dead layers"

    limit: float = threshold(1e-7, "Gradient norm that is too small at any time.", above=0)

    def check(self, history: History) -> Finding | None:
        return self.outlier(history, sign=-1)
