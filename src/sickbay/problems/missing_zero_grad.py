from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING


@dataclass(frozen=True, kw_only=True)
class MissingZeroGrad(Problem):
    """Gradients are not cleared between steps, so they add up.

    Why it matters:
        Every step follows the sum of all gradients since the start, and most of them are outdated.

    How it is judged:
        When the first gradient of a step arrives, the gradient of the previous step is still there.
        This happens at every backward pass, in each of the last `checks` readings. Accumulating
        gradients over several batches before one step is fine.

    Example:
        >>> print(MissingZeroGrad(checks=2).check(History(uncleared=[0.0, 1.0, 1.0])).message)
        backward() added to the gradients of the last step in 2 readings in a row

    Reference:
        PyTorch documentation, Optimizer.zero_grad.
    """

    severity = "critical"
    advice = "call optimizer.zero_grad() before loss.backward()"
    reads = ("gradient",)
    explains = ("non_finite", *EVERYTHING)

    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        flags = history.recent("uncleared", self.checks)
        if len(flags) < self.checks or not all(flag == 1 for flag in flags):
            return None
        message = f"backward() added to the gradients of the last step in {self.checks} readings"
        return self.found(history, f"{message} in a row")
