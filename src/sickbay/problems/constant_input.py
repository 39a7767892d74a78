from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING


@dataclass(frozen=True, kw_only=True)
class ConstantInput(Problem):
    """Every sample of a batch is the same.

    Why it matters:
        A model that sees no difference between samples can only answer with a constant.

    How it is judged:
        The inputs of a batch differ from sample to sample by less than `spread` of their size, in
        each of the last `checks` readings.

    Example:
        >>> print(ConstantInput().check(History(input_spread=3 * [0.0])).message)
        all samples of the last 3 batches read are the same

    Reference:
        Humbatova et al. (2020), Taxonomy of real faults in deep learning systems, on wrong
        preprocessing.
    """

    severity = "critical"
    advice = "print a batch: look for a division by 255 of integers, a wrong column, or a mask of 0"
    reads = ("batch",)
    explains = EVERYTHING

    spread: float = threshold(
        1e-7, "Limit for the spread of the inputs, relative to their size.", above=0
    )
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        spreads = history.recent("input_spread", self.checks)
        if len(spreads) < self.checks or not all(each < self.spread for each in spreads):
            return None
        message = f"all samples of the last {self.checks} batches read are the same"
        return self.found(history, message, spread=max(spreads))
