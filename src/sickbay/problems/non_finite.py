from dataclasses import dataclass
from math import isfinite

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.base import Problem
from sickbay.readings import Kind, Table

# At one step, what comes first is the likelier origin: weights feed the forward pass, that feeds
# the loss, that feeds the gradients, and clipping spreads a NaN over all of them.
ORDER: tuple[Kind, ...] = ("weight", "activation", "raw_gradient", "gradient")


@dataclass(frozen=True, kw_only=True)
class NonFinite(Problem):
    """A NaN or an Inf has appeared.

    Why it matters:
        It spreads: one update with it and every weight is lost.

    How it is judged:
        Any value that is not finite in a weight, an activation, a gradient or the loss. The layers
        are those where it is, in forward order.

    Example:
        >>> from sickbay.readings import Vitals
        >>> rows = {"a.weight": {"nonfinite": 0.0}, "b.weight": {"nonfinite": 3.0}}
        >>> history = History(loss=[2.3])
        >>> history.append(Vitals(step=7, tables=[Table.of("gradient", 7, rows)]))
        >>> print(NonFinite().check(history))
        step 7  non finite  b  gradient of b.weight has 3 NaN or Inf

    Reference:
        Reported by every framework, located by few.
    """

    severity = "critical"
    advice = "lower the learning rate or clip gradients; look for log, sqrt or division near zero"

    def check(self, history: History) -> Finding | None:
        tables = [table for kind in ORDER if (table := history.table(kind)) is not None]
        sick = [table for table in tables if (table.column("nonfinite") > 0).any()]
        if sick:
            earliest = min(table.step for table in sick)
            table = next(table for table in sick if table.step == earliest)
            return self._in_table(history, table)
        for name in ("loss", "grad_norm"):
            for step, value in history.timed(name, 1):
                if not isfinite(value):
                    message = f"{name} is {value}"
                    return self.found(history, message, step=step, value=value)
        return None

    def _in_table(self, history: History, table: Table) -> Finding:
        counts = table.column("nonfinite")
        where = [name for name, count in zip(table.names, counts, strict=True) if count > 0]
        kind = table.kind.replace("raw_", "")
        message = f"{kind} of {where[0] or '(model)'} has {counts[counts > 0][0]:.0f} NaN or Inf"
        if len(where) > 1:
            everywhere = len(where) == len(counts)
            message += f", as {'all' if everywhere else 'have'} {len(where) - 1} other {kind}s"
        layers = tuple(map(table.layer, where))
        return self.found(
            history, message, step=table.step, layers=layers, tensors=float(len(where))
        )
