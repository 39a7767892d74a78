from dataclasses import replace
from math import inf

import numpy as np

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import GradientProblem, fed_kernels
from sickbay.problems.shared.shut_units import shut_biases
from sickbay.vitals import MIXING, Table, layer_of

READINGS = 32  # to look back at


@dataclass(frozen=True, kw_only=True)
class DyingRelu(GradientProblem):
    """Most of the network gets a gradient of exactly zero: its units are switched off for good.

    Why it matters:
        A unit that is zero for every sample has no gradient, so it cannot recover.

    How it is judged:
        Among the gradient entries of all kernels, the share of exact zeros is at least `share`, in
        `checks` readings in a row, while the model learns badly (see `accuracy` and `loss_drop`).
        Embeddings do not count: their gradient is zero for every word that did not occur. Nor do
        the recurrent matrices of an LSTM, which have no gradient in sequences of length one. If it
        shows before the first update, in a linear layer or convolution whose bias has a gradient
        although its kernel has none, that layer is fed nothing but zeros by a bad start. This is a
        cause of its own whatever else is found.

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
        finding = silenced(self, history, table, share=self.share)
        start = history.tables("gradient", READINGS)[0]
        early = start.step == 0 and self.readings_of_units(history) <= 1  # a batch tells enough
        if not early or not self.shows(history, start) or not is_fed_zeros(history, start):
            return finding
        weights = history.tables("weight", READINGS)
        if weights and shut_biases(history.setup, weights[0]):  # improper_initialisation says so
            return finding
        return replace(finding, evidence={**finding.evidence, "start": 1.0})

    def stands_alone(self, finding: Finding) -> bool:
        return "start" in finding.evidence


def zero_share(history: History, table: Table) -> float:
    """Return the share of exact zeros among the gradient entries of all kernels."""
    rows = fed_kernels(history, table)
    counts, zeros = table.column("count")[rows], table.column("zeros")[rows]
    total = float(np.nansum(counts))
    return float(np.nansum(counts * zeros)) / total if 0 < total < inf else 0.0


def is_fed_zeros(history: History, table: Table) -> bool:
    """Return whether a layer after the first has a gradient for its bias and none for its kernel.

    The gradient of a kernel is that of the bias times the inputs, so all of these are zero.
    """
    zeros = dict(zip(table.names, table.column("zeros").tolist(), strict=True))
    later = [table.names[row] for row in fed_kernels(history, table)[1:]]
    return any(
        zeros[name] == 1 and zeros.get(f"{layer_of(name)}.bias", 1.0) < 1
        for name in later
        if history.setup.layers.get(layer_of(name)) in MIXING
    )


def silenced(problem: Problem, history: History, table: Table, *, share: float) -> Finding:
    """Return the finding for gradients with too many zeros."""
    found, zeros = zero_share(history, table), table.column("zeros")
    layers = tuple(table.layers[row] for row in fed_kernels(history, table) if zeros[row] >= share)
    message = f"{100 * found:.3g} % of all gradient entries are exactly 0 (limit {100 * share:g} %)"
    return problem.found(history, message, step=table.step, layers=layers, share=found)
