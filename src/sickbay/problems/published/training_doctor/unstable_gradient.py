import numpy as np

from sickbay.problems.published.training_doctor.suggesting_base import SuggestingProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class UnstableGradient(SuggestingProblem):
    """The global gradient norm varies wildly.

    Why it matters:
        No learning rate fits both the small and the large steps.

    How it is judged:
        The standard deviation of the newest `window` norms over their mean is above `ratio`. This
        needs a full window.

    Example:
        >>> history = History(grad_norm=[0.1, 0.1, 0.1, 0.1, 0.1, 9.9])
        >>> print(UnstableGradient(window=6).check(history).message)
        gradient norm varies by 2.11 times its mean over 6 steps (limit 2)

    Reference:
        Training Doctor (authors not named); thresholds as given there.
    """

    advice = "clip the gradient norm to 1, make the batch larger, or warm the learning rate up"
    reads = ("step",)

    ratio: float = threshold(2.0, "Limit for the standard deviation, divided by the mean.", above=0)
    window: int = threshold(50, "Norms to look at.", least=2)

    def check(self, history: History) -> Finding | None:
        timed = history.timed("grad_norm", self.window)
        if len(timed) < self.window:
            return None
        norms = np.array([norm for _, norm in timed])
        with np.errstate(all="ignore"):  # NaN shows nothing
            ratio = float(np.std(norms) / np.mean(norms))
        if not ratio > self.ratio:
            return None
        message = (
            f"gradient norm varies by {ratio:.3g} times its mean over {self.window} steps "
            f"(limit {self.ratio:g})"
        )
        return self.found(history, message, step=timed[-1][0], ratio=ratio)
