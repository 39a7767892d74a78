"""AutoTrainer judges a model only while its accuracy is known and low."""

from math import inf

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.learns_badly import best_accuracy


@dataclass(frozen=True, kw_only=True)
class LowAccuracyProblem(Problem):
    """A problem that counts only while the accuracy is known and low."""

    accuracy: float = threshold(
        0.7, "A model that has reached a higher accuracy is left alone.", least=0
    )

    def is_accuracy_low(self, history: History) -> bool:
        return -inf < best_accuracy(history) <= self.accuracy

    def unfit(self, history: History, used: str, fitting: tuple[str, ...]) -> Finding | None:
        """Return a finding if what is used is known, but is not one of those that fit the task."""
        if not used or not fitting or used in fitting or not self.is_accuracy_low(history):
            return None
        right = " or ".join(fitting)
        return self.found(history, f"{used} for {history.setup.task}, where {right} is right")
