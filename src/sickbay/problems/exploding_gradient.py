from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems.gradient import GradientProblem, ends
from sickbay.problems.groups import AFTERMATH
from sickbay.problems.updates import all_updates, relative_gradients
from sickbay.thresholds import threshold
from sickbay.vitals import Table, rms

HUGE = 100  # times the targets


@dataclass(frozen=True, kw_only=True)
class ExplodingGradient(GradientProblem):
    """Gradients are so large that a step throws the weights far off.

    Why it matters:
        A step that fits the last layers throws the first ones far off, and the loss with them.

    How it is judged:
        The gradient of some kernel is more than `relative` times as large as the kernel itself, and
        a step changes some kernel by more than its own size, or the outputs are more than 100 times
        as large as the targets. Or, with `ratio`, as published: the
        gradient norm of the first kernel over that of the last one, in `checks` readings in a row,
        while the model learns badly; NaN and Inf count too where `nonfinite` says so.

    Example:
        >>> from sickbay.vitals import Vitals
        >>> gradient = Table.of("gradient", 0, {"a.weight": {"norm": 9e5}, "b.weight": {}})
        >>> rows = {"a.weight": {"norm": 3.0, "update_ratio": 3e3}, "b.weight": {"norm": 3.0}}
        >>> history = History(loss=[2.3])
        >>> history.append(Vitals(step=0, tables=[gradient, Table.of("weight", 0, rows)]))
        >>> print(ExplodingGradient().check(history).message)
        the gradient is 3e+05 times as large as the weight (limit 1000)

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system, for the ratio; You et al. (2017) for gradients relative to weights.
    """

    advice = "start with smaller weights, clip the gradient norm to 1, or add normalisation layers"
    explains = ("non_finite", "unchanged_weights", "vanishing_gradient", *AFTERMATH)

    relative: float = threshold(1e3, "Gradient over weight that is too large; inf: never.", above=0)
    ratio: float = threshold(inf, "First over last gradient norm that is too large.", above=1)
    nonfinite: int = threshold(0, "1: a NaN or Inf in a gradient counts as well.", least=0)

    def check(self, history: History) -> Finding | None:
        return self._far_too_large(history) or super().check(history)

    def shows(self, history: History, table: Table) -> bool:
        if self.nonfinite and not table.is_finite:
            return True
        first, last = ends(history, table)
        return isfinite(first) and first >= self.ratio * last > 0

    def _far_too_large(self, history: History) -> Finding | None:
        gradient, weight = history.table("gradient"), history.table("weight")
        sizes = relative_gradients(history)
        if (
            gradient is None
            or weight is None
            or not np.fmax.reduce(sizes, initial=0) > self.relative
        ):
            return None
        if not (
            np.fmax.reduce(all_updates(history, weight), initial=0) > 1 or outputs_are_huge(history)
        ):
            return None
        worst = int(np.nanargmax(sizes))
        message = f"the gradient is {sizes[worst]:.2g} times as large as the weight"
        message += f" (limit {self.relative:g})"
        layers = (gradient.layers[history.kernels(gradient)[worst]],)
        relative = float(sizes[worst])
        return self.found(history, message, step=gradient.step, layers=layers, relative=relative)

    def describe(self, history: History, table: Table) -> Finding:
        spoilt = table.column("nonfinite") > 0
        if self.nonfinite and spoilt.any():
            where = tuple(layer for layer, bad in zip(table.layers, spoilt, strict=True) if bad)
            message = f"{spoilt.sum()} of {len(spoilt)} gradients hold NaN or Inf"
            return self.found(history, message, step=table.step, layers=where)
        first, last = ends(history, table)
        message = f"gradient norm {first:.3g}, first/last {first / last:.3g} (limit {self.ratio:g})"
        layers = (table.layers[history.kernels(table)[0]],)
        numbers = {"first": first, "last": last, "ratio": first / last}
        return self.found(history, message, step=table.step, layers=layers, **numbers)


def outputs_are_huge(history: History) -> bool:
    """Tell whether the outputs are far larger than the targets; than 1, if these are smaller."""
    output, target = history.batch("output"), history.batch("target")
    return bool(target) and rms(output) > HUGE * max(1.0, rms(target))
