import numpy as np

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.clipped_gradients import ClippingProblem
from sickbay.problems.shared.problem_groups import AFTER_DAMAGE
from sickbay.problems.shared.weight_updates import (
    all_updates,
    fast_median,
    inner_steps,
    relative_gradients,
)
from sickbay.vitals import rms

HUGE = 100  # times the targets


@dataclass(frozen=True, kw_only=True)
class ExplodingGradient(ClippingProblem):
    """Gradients are so large that a single step changes the weights far too much.

    Why it matters:
        One such step can destroy everything that was learnt.

    How it is judged:
        The gradient of a kernel is more than `relative` times as large as the kernel itself. In
        addition, a step changes some kernel by more than its own size, and the loss has risen since
        the start; or it changes most of several kernels so much; or the outputs are more than 100
        times as large as the targets. Or clipping to `norm` or more still divides the gradients by
        more than `factor` after step `after`, in each of the last `checks` readings, and the model
        gains less than `gain` over a constant answer; if that is not known, it must learn badly.
        Steps of Adam and its like do not depend on the norm, so there clipping does not count.

    Example:
        >>> rows = {"a.weight": {"norm": 3.0, "update_ratio": 3e3}, "b.weight": {"norm": 3.0}}
        >>> history = History(loss=[2.3])
        >>> history.add_table("gradient", {"a.weight": {"norm": 9e5}, "b.weight": {}})
        >>> history.add_table("weight", rows)
        >>> print(ExplodingGradient().check(history).message)
        the gradient is 3e+05 times as large as the weight (limit 1000)

    Reference:
        You et al. (2017), Large batch training of convolutional networks, on gradients relative to
        weights; AutoTrainer's own rule is `published.autotrainer.ExplodingGradient`.
    """

    advice = "start with smaller weights, clip the gradient norm to 1, or add normalisation layers"
    reads = ("gradient",)
    explains = ("non_finite", "unchanged_weights", "vanishing_gradient", *AFTER_DAMAGE)

    relative: float = threshold(1e3, "Limit for the gradient, relative to the weight.", above=0)

    def check(self, history: History) -> Finding | None:
        return self._thrown(history) or self._hidden(history)

    def _hidden(self, history: History) -> Finding | None:
        """Return a finding if the gradients are always far larger than what they are clipped to."""
        sizes = self.almost_all(history) if history.step >= self.after else None
        if sizes is None or not sizes[1] >= self.norm or not self.gains_little(history):
            return None
        if not self.shortens_steps(history, sizes[1]):
            return None
        message = f"gradient norm {sizes[0]:.2g}, more than {self.factor:g} times as large as the"
        message += f" {sizes[1]:.2g} that it is clipped to, step after step"
        return self.found(history, message, raw=sizes[0], clipped=sizes[1])

    def _thrown(self, history: History) -> Finding | None:
        gradient, weight = history.table("gradient"), history.table("weight")
        sizes = relative_gradients(history)
        if gradient is None or weight is None:
            return None
        if not np.fmax.reduce(sizes, initial=0) > self.relative:
            return None
        changes = all_updates(history, weight) / inner_steps(history)
        risen = not history.latest("loss") <= history.first("loss")
        thrown = np.fmax.reduce(changes, initial=0) > 1 and risen
        # A kernel that starts near 0 has to grow: the only one of a linear model, or the last one.
        thrown |= len(changes) > 1 and fast_median(changes[~np.isnan(changes)]) > 1
        output, target = history.batch("output"), history.batch("target")
        huge = bool(target) and rms(output) > HUGE * max(1.0, rms(target))
        if not thrown and not huge:
            return None
        worst = int(np.nanargmax(sizes))
        relative = float(sizes[worst])
        message = f"the gradient is {relative:.2g} times as large as the weight"
        message += f" (limit {self.relative:g})"
        layers = (gradient.layers[history.kernels(gradient)[worst]],)
        return self.found(history, message, step=gradient.step, layers=layers, relative=relative)
