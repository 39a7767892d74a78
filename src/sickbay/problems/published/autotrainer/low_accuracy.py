"""AutoTrainer judges a model only while its accuracy is known and low."""

from math import inf

from sickbay.problems.shared.base import History, Problem, dataclass, threshold
from sickbay.problems.shared.learns_badly import best_accuracy


@dataclass(frozen=True, kw_only=True)
class LowAccuracyProblem(Problem):
    """A problem that counts only while the accuracy is known and low."""

    accuracy: float = threshold(
        0.7, "A model that has reached a higher accuracy is left alone.", least=0
    )

    def is_accuracy_low(self, history: History) -> bool:
        return -inf < best_accuracy(history) <= self.accuracy
