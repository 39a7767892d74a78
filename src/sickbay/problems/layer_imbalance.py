import numpy as np

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class LayerImbalance(Problem):
    """Some layers change far faster than others.

    Why it matters:
        No single learning rate fits both: the fast layers jump about while the slow ones hardly
        change.

    How it is judged:
        Updates are measured relative to the size of their kernels. The largest is more than
        `factor` times the smallest, in each of the last `checks` readings. Kernels that do not
        change at all do not count.

    Example:
        >>> rows = {"a.weight": {"update_ratio": 1e-8}, "b.weight": {"update_ratio": 1e-2}}
        >>> history = History()
        >>> history.add_table("weight", rows)
        >>> print(LayerImbalance(checks=1).check(history))
        step 0  layer imbalance  a +1  b changes 1e+06 times as fast as a (limit 10000)

    Reference:
        You et al. (2017), Large batch training of convolutional networks, on the ratio of weights
        to gradients in each layer.
    """

    advice = "check the initial scale and the learning rate of these layers, or use Adam or LARS"
    reads = ("weight",)

    factor: float = threshold(
        1e4, "Limit for the ratio of the largest to the smallest update.", above=1
    )
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        tables = history.tables("weight", self.checks)
        if len(tables) < self.checks:
            return None
        for table in tables:
            ratios = table.column("update_ratio")[history.kernels(table)]
            ratios = np.where(ratios > 0, ratios, np.nan)
            if not np.isfinite(ratios).any():
                return None
            if not np.nanmax(ratios) > self.factor * np.nanmin(ratios):
                return None
        rows = history.kernels(table)
        slow, fast = (
            table.layers[rows[int(pick(ratios))]] for pick in (np.nanargmin, np.nanargmax)
        )
        factor = float(np.nanmax(ratios) / np.nanmin(ratios))
        message = f"{fast} changes {factor:.2g} times as fast as {slow} (limit {self.factor:g})"
        return self.found(history, message, step=table.step, layers=(slow, fast), factor=factor)
