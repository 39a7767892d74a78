from math import inf

import numpy as np

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import GradientProblem, fed_kernels
from sickbay.vitals import Table


@dataclass(frozen=True, kw_only=True)
class DyingRelu(GradientProblem):
    """Most of the network gets a gradient of exactly zero: its units are switched off for good.

    Why it matters:
        A unit that is zero for every sample has no gradient, so it cannot recover.

    How it is judged:
        Among the gradient entries of all kernels, the share of exact zeros is at least `share`, in
        `checks` readings in a row, while the model learns badly (see `accuracy` and `loss_drop`).
        Embeddings do not count: their gradient is zero for every word that did not occur. Nor do
        the recurrent matrices of an LSTM, which have no gradient in sequences of length one.

    Example:
        >>> rows = {"a.weight": {"zeros": 1, "count": 90}, "b.weight": {"zeros": 0, "count": 10}}
        >>> history = History(loss=[2.3])
        >>> history.add_table("gradient", rows)
        >>> print(DyingRelu(checks=1).check(history).message)
        90 % of all gradient entries are exactly 0 (limit 90 %)

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system; rule as in its code, with a higher threshold.
    """

    advice = (
        "replace ReLU with LeakyReLU or ELU, lower the learning rate, or re-initialise the biases"
    )

    share: float = threshold(0.9, "Share of exact zeros that is too large.", above=0)

    def needed(self, history: History) -> int:
        return max(self.checks, self.readings_of_units(history))

    def shows(self, history: History, table: Table) -> bool:
        # The share of all can only be so high if that of one kernel is.
        some = np.fmax.reduce(table.column("zeros"), initial=0) >= self.share
        return bool(some) and zero_share(history, table) >= self.share

    def describe(self, history: History, table: Table) -> Finding:
        return silenced(self, history, table, share=self.share)


def zero_share(history: History, table: Table) -> float:
    """Return the share of exact zeros among the gradient entries of all kernels."""
    rows = fed_kernels(history, table)
    counts, zeros = table.column("count")[rows], table.column("zeros")[rows]
    total = float(np.nansum(counts))
    return float(np.nansum(counts * zeros)) / total if 0 < total < inf else 0.0


def silenced(problem: Problem, history: History, table: Table, *, share: float) -> Finding:
    """Return the finding for gradients with too many zeros."""
    found, zeros = zero_share(history, table), table.column("zeros")
    layers = tuple(table.layers[row] for row in fed_kernels(history, table) if zeros[row] >= share)
    message = f"{100 * found:.3g} % of all gradient entries are exactly 0 (limit {100 * share:g} %)"
    return problem.found(history, message, step=table.step, layers=layers, share=found)
