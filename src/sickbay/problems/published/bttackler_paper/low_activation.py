from math import isnan

from sickbay.problems.published.bttackler import low_activation as code
from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold


@dataclass(frozen=True, kw_only=True)
class LowActivation(Problem, like=code.LowActivation):
    """In one of the layers, a large part of the units is off.

    How it is judged:
        Over the readings of an epoch, the mean share of units that are zero for the whole batch is
        taken for each layer. In one of them it is above `share`. The paper gives no limit; this is
        that of the published code, which looks at zeros in gradients instead.

    Example:
        >>> history = History(loss=[2.3])
        >>> history.add_table("activation", {"a": {"dead_units": 0.8}, "b": {"dead_units": 0.0}})
        >>> history.end_epoch()
        >>> print(LowActivation().check(history).message)
        80 % of the units of a are zero (limit 50 %)

    Reference:
        Pei et al. (2024), BTTackler; its rule LAR, as in the paper.
    """

    yields_to_the_best = False
    protection_lasts = False

    share: float = threshold(0.5, "Share of the units of a layer that is too much.", least=0)

    def check(self, history: History) -> Finding | None:
        table = history.epoch_mean("activation")
        if table is None:
            return None
        shares = zip(table.layers, table.column("dead_units").tolist(), strict=True)
        off = {layer: share for layer, share in shares if not isnan(share) and share > self.share}
        if not off:
            return None
        most = max(off, key=off.__getitem__)
        message = (
            f"{100 * off[most]:.3g} % of the units of {most} are zero "
            f"(limit {100 * self.share:g} %)"
        )
        return self.found(history, message, step=table.step, layers=tuple(off), largest=off[most])
