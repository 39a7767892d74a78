from dataclasses import replace

from sickbay.problems.shared.base import Finding, History, dataclass
from sickbay.problems.shared.clipped_gradients import ClippingProblem, clipped
from sickbay.problems.shared.problem_groups import NO_PROGRESS, SLOW
from sickbay.problems.shared.usual_rates import SGD_LIKE

READINGS = 32  # to look back at, at the end of a run


@dataclass(frozen=True, kw_only=True)
class ExcessiveClipping(ClippingProblem):
    """Clipping leaves almost nothing of any gradient.

    Why it matters:
        Clipping is for the rare gradient that is far too large. If it cuts every one, it is a
        learning rate that is far too low.

    How it is judged:
        Clipping divides the norm of the gradients that the optimizer uses by more than `factor`, to
        less than `norm`, in each of the last `checks` readings, and the model gains less than
        `gain` over a constant answer on its training batches from step `after` on. If that is not
        known, it must learn badly (see `loss_drop`). Adam and its like make steps of the same
        length whatever the norm, so there it only counts near the `eps` that they add. The severity
        is `info`, and it is told at the end of the run, if most readings were clipped to less than
        `norm` by whatever factor, and the optimizer is SGD, whose steps are as short as the
        gradients.

    Example:
        >>> history = History(loss=[0.7] * 3)
        >>> for step in range(3):
        ...     history.add_table("raw_gradient", {"a.weight": {"norm": 2.0}}, step)
        ...     history.add_table("gradient", {"a.weight": {"norm": 1e-6}}, step)
        >>> print(ExcessiveClipping().check(history).message)
        clipping divides the gradient by 2e+06 (limit 50)

    Reference:
        Pascanu et al. (2013), On the difficulty of training recurrent neural networks, on choosing
        the threshold by the usual norm.
    """

    advice = "clip to a norm that only rare gradients exceed, such as 1 or 10"
    reads = ("gradient", "end")
    explains = ("plateau", *SLOW, *NO_PROGRESS)

    def check(self, history: History) -> Finding | None:
        sizes = self.almost_all(history)
        if sizes is None or not sizes[1] < self.norm:
            return self._cuts_most(history)
        if not self.shortens_steps(history, sizes[1]) or not self.gains_little(history):
            return None
        factor = sizes[0] / sizes[1]
        message = f"clipping divides the gradient by {factor:.2g} (limit {self.factor:g})"
        return self.found(history, message, factor=factor)

    def _cuts_most(self, history: History) -> Finding | None:
        if not history.ended or history.setup.optimizer not in SGD_LIKE:
            return None
        cut = [after for before, after in clipped(history, READINGS) if after < before]
        read = len(history.tables("gradient", READINGS))
        if len(cut) <= max(self.checks, read / 2) or not 0 < max(cut) < self.norm:
            return None
        if not self.gains_little(history):
            return None
        message = f"clipping cuts {len(cut)} of {read} gradients, to {max(cut):.2g} or less"
        return replace(self.found(history, message, norm=max(cut)), severity="info")
