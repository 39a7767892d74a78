import numpy as np

from sickbay.problems import dying_relu as ours
from sickbay.problems.published.autotrainer.repeated_checks_base import RepeatedProblem
from sickbay.problems.shared.base import Finding, History, choice, dataclass, threshold
from sickbay.vitals import Numbers, Table


@dataclass(frozen=True, kw_only=True)
class DyingRelu(RepeatedProblem, like=ours.DyingRelu):
    """Most of the network gets a gradient of exactly zero: its units are switched off for good.

    How it is judged:
        The share of neurons whose gradient is exactly zero is at least `share`, in `checks`
        readings in a row. A neuron is a row of a kernel. With `of="entries"`, the entries of all
        gradients are counted instead, as in the published code. This counts only while the accuracy
        is low. Embeddings do not count.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(shapes={"a.weight": (9, 4), "b.weight": (1, 9)})
        >>> history = History(setup, accuracy=[0.1])
        >>> rows = {"a.weight": {"dead_units": 1.0}, "b.weight": {"dead_units": 0.0}}
        >>> history.add_table("gradient", rows)
        >>> print(DyingRelu().check(history).message)
        the gradients of 90 % of all neurons are exactly 0 (limit 70 %)
    """

    reads_dead_gradients = True

    share: float = threshold(0.7, "Share of exact zeros that is too much.", above=0)
    of: str = choice("neurons", "What is counted.", ("neurons", "entries"))

    def check(self, history: History) -> Finding | None:
        return self.newest(history, "gradient")

    def shows(self, history: History, table: Table) -> bool:
        return self._zero_share(history, table) >= self.share

    def describe(self, history: History, table: Table) -> Finding:
        found, (_, zeros) = self._zero_share(history, table), self._counted(history, table)
        percent, limit = f"{100 * found:.3g} %", f"(limit {100 * self.share:g} %)"
        message = f"the gradients of {percent} of all neurons are exactly 0 {limit}"
        if self.of == "entries":
            message = f"{percent} of all gradient entries are exactly 0 {limit}"
        layers = tuple(np.array(table.layers)[zeros >= self.share].tolist())
        return self.found(history, message, step=table.step, layers=layers, share=found)

    def _zero_share(self, history: History, table: Table) -> float:
        counts, zeros = self._counted(history, table)
        known = np.isfinite(counts) & np.isfinite(zeros)
        total = float(counts[known].sum())
        return float(counts[known] @ zeros[known]) / total if total > 0 else 0.0

    def _counted(self, history: History, table: Table) -> tuple[Numbers, Numbers]:
        """Return how many neurons or entries each gradient has, and the share of zeros."""
        if self.of == "entries":
            counts, zeros = table.column("count").copy(), table.column("zeros")
            counts[history.embeddings(table)] = 0
            return counts, zeros
        rows, shapes = history.kernels(table), history.setup.shapes
        neurons = np.zeros(len(table.names))
        neurons[rows] = [shapes.get(table.names[row], (0,))[0] for row in rows]
        return neurons, table.column("dead_units")
