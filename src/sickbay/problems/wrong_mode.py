from dataclasses import dataclass

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.shared.base import Problem
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.thresholds import threshold


@dataclass(frozen=True, kw_only=True)
class WrongMode(Problem):
    """The model is trained in evaluation mode, where dropout and batch norm are switched off.

    Why it matters:
        Dropout does nothing, and batch norm uses statistics that it never updates.

    How it is judged:
        The model holds dropout or batch norm, and `model.training` was False when the optimizer
        made its step, in each of the last `checks` readings.

    Example:
        >>> print(WrongMode(checks=2).check(History(in_eval=[0.0, 1.0, 1.0])).message)
        model.training was False in the last 2 readings

    Reference:
        PyTorch documentation, Module.eval.
    """

    advice = "call model.train() before the training loop and again after every evaluation"
    reads = ("step",)
    explains = EVERYTHING

    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        flags = history.recent("in_eval", self.checks)
        if len(flags) < self.checks or not all(flag == 1 for flag in flags):
            return None
        return self.found(history, f"model.training was False in the last {self.checks} readings")
