from sickbay.problems import dying_relu as ours
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class DyingRelu(LowAccuracyProblem, like=ours.DyingRelu):
    """Most of the network gets a gradient of exactly zero: its units are switched off for good.

    How it is judged:
        Among the newest gradient entries of all kernels, the share of exact zeros is at least
        `share`, as in the published code. This counts only while the accuracy is low. Embeddings do
        not count.

    Example:
        >>> rows = {"a.weight": {"zeros": 1, "count": 90}, "b.weight": {"zeros": 0, "count": 10}}
        >>> history = History(accuracy=[0.1])
        >>> history.add_table("gradient", rows)
        >>> print(DyingRelu().check(history).message)
        90 % of all gradient entries are exactly 0 (limit 70 %)
    """

    share: float = threshold(0.7, "Share of exact zeros that is too much.", above=0)

    def check(self, history: History) -> Finding | None:
        table = history.table("gradient")
        if table is None or not self.is_accuracy_low(history):
            return None
        if not ours.zero_share(history, table) >= self.share:
            return None
        return ours.silenced(self, history, table, share=self.share)
