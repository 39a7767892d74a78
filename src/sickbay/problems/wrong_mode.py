from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING


@dataclass(frozen=True, kw_only=True)
class WrongMode(Problem):
    """The model trains in evaluation mode, which switches dropout and batch norm off.

    Why it matters:
        Dropout does nothing, and batch norm uses statistics that it never updates.

    How it is judged:
        The model holds dropout or batch norm, and `model.training` was False at the optimizer's
        step in each of the last `checks` readings.

    Example:
        >>> print(WrongMode(checks=2).check(History(in_eval=[0.0, 1.0, 1.0])).message)
        model.training was False in 2 readings in a row

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
        return self.found(history, f"model.training was False in {self.checks} readings in a row")
