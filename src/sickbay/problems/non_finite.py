from math import isfinite

from sickbay.problems.shared.base import Finding, History, Problem, dataclass
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.spoilt_rows import spoilt
from sickbay.vitals import KINDS, Table

# Within a step the first is the likeliest origin: batch and weights feed the forward pass, which
# feeds the loss, which feeds the gradients, and clipping spreads a NaN over all of them.
ORDER = ("batch", "weight", "activation", "loss", "raw_gradient", "gradient", "grad_norm")


@dataclass(frozen=True, kw_only=True)
class NonFinite(Problem):
    """A NaN or an Inf has appeared.

    Why it matters:
        It spreads: a single update that contains it destroys every weight.

    How it is judged:
        Any value in the batch, a weight, an activation, a gradient or the loss is not finite. The
        finding names the layers that hold one, in forward order. Inputs may be missing if the
        outputs and the loss are finite, as those of a model that fills them in.

    Example:
        >>> rows = {"a.weight": {"nonfinite": 0.0}, "b.weight": {"nonfinite": 3.0}}
        >>> history = History(loss=[2.3])
        >>> history.add_table("gradient", rows, step=7)
        >>> print(NonFinite().check(history))
        step 7  non finite  b  gradient of b.weight has 3 NaN or Inf

    Reference:
        Micikevicius et al. (2018), Mixed precision training, on where half precision overflows.
    """

    severity = "critical"
    reads = ("step", *KINDS)
    spares_weights = True
    batches_are_skipped = True
    explains = EVERYTHING
    advice = (
        "check that batch, and look for log, sqrt or division near zero; otherwise clip gradients "
        "or lower the learning rate"
    )

    def check(self, history: History) -> Finding | None:
        tables = [table for kind in KINDS if (table := history.table(kind)) is not None]
        read = [table.step for table in tables]
        newest = max([*read, *(step for step, _ in history.timed("grad_norm", 1))], default=-1)
        bad: dict[str, Table] = {
            table.kind: table
            for table in tables
            if table.step == newest and not table.is_finite and spoilt(history, table).any()
        }
        steps = {kind: table.step for kind, table in bad.items()}
        for name in ("loss", "grad_norm"):
            for step, value in history.timed(name, 1):
                if not isfinite(value):
                    steps[name] = step
        if not steps:
            return None
        origin = min(steps, key=lambda name: (steps[name], ORDER.index(name)))
        if origin in bad:
            return self._in_table(history, bad[origin])
        value = history.latest(origin)
        return self.found(history, f"{origin} is {value}", step=steps[origin], value=value)

    def lasts(self, _finding: Finding) -> bool:
        return False  # if it had reached the weights, it would still be there

    def _in_table(self, history: History, table: Table) -> Finding:
        where = [name for name, bad in zip(table.names, spoilt(history, table), strict=True) if bad]
        count, tensors = table.row(where[0])["nonfinite"], float(len(where))
        if table.kind == "batch":
            message = f"{where[0]} of the model has {count:.0f} NaN or Inf"
            return self.found(history, message, step=table.step, tensors=tensors)
        what = f"{table.kind.removeprefix('raw_')} of {where[0] or '(model)'}"
        message = f"{what} has {count:.0f} NaN or Inf"
        if len(where) > 1:
            message += f", and so have {len(where) - 1} of {len(table.names) - 1} others"
        layers = tuple(map(table.layer, where))
        return self.found(history, message, step=table.step, layers=layers, tensors=tensors)
