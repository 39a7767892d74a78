from sickbay.problems.published.bttackler import abnormal_gradient as code
from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.layer_gradients import by_kernel, nonfinite_gradients


@dataclass(frozen=True, kw_only=True)
class AbnormalGradient(Problem, like=code.AbnormalGradient):
    """Gradients are not finite, or far too large in one of the layers.

    How it is judged:
        Gradients hold a NaN or an Inf in one of the readings of an epoch, or the largest absolute
        gradient of any kernel, averaged over these readings, reaches `limit`. The paper gives no
        limit; this is that of the published code, which asks it of the median kernel's mean.

    Example:
        >>> rows = {"a.weight": {"absmax": 3e4}, "b.weight": {"absmax": 0.1}}
        >>> history = History(loss=[2.3])
        >>> history.add_table("gradient", rows)
        >>> history.end_epoch()
        >>> print(AbnormalGradient().check(history).message)
        largest |gradient| 3e+04 in a (limit 10000)

    Reference:
        Pei et al. (2024), BTTackler; its rule AGV, as in the paper.
    """

    limit: float = threshold(1e4, "Largest absolute gradient that is too large.", above=0)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("gradient")
        if table is None:
            return None
        if not table.is_finite:
            return nonfinite_gradients(self, history, table)
        largest = by_kernel(history, table, "absmax")
        large = {row: value for row, value in largest.items() if value >= self.limit}
        if not large:
            return None
        row = max(large, key=large.__getitem__)
        where = f"{large[row]:.3g} in {table.layers[row]}"
        message = f"largest |gradient| {where} (limit {self.limit:g})"
        layers = tuple(table.layers[row] for row in large)
        return self.found(history, message, step=table.step, layers=layers, largest=large[row])
