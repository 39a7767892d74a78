from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import loss_fall
from sickbay.problems.shared.problem_groups import NO_PROGRESS
from sickbay.problems.shared.unusually_low_rate import UnusuallyLowRate, may_be_fine_tuning
from sickbay.problems.shared.usual_rates import is_usual, relative_rate
from sickbay.problems.shared.weight_updates import usual_update


@dataclass(frozen=True, kw_only=True)
class LearningRateTooLow(UnusuallyLowRate):
    """Steps hardly change the weights, and the loss does not fall.

    Why it matters:
        The run would take thousands of times as long as necessary.

    How it is judged:
        An update is measured relative to the weights, as the median over kernels. It is below
        `certain`, or from step `after` on below `ratio`, in each of the last `checks` readings,
        while the model learns badly (see `accuracy` and `loss_drop`). It does not count while the
        learning rate rises, as in a warm-up, nor from half of the usual rate of the optimizer on:
        there, steps are small because gradients are. Once a schedule has lowered the rate to less
        than half, a loss that fell by `loss_drop` is good enough. At no more than `unusual` of the
        usual rate of the optimizer, it is a cause of its own whatever else is found. If the rate
        was never higher, it also counts from step `patience` on whatever the updates are, while the
        model gains less than `gain` over a constant answer. And it counts if a schedule had lowered
        the rate in every epoch, to less than `lowered` of its highest value before a third of the
        run and within `early` epochs, and the model gains less than `learnt`. The severity is
        `info`, and it is told at the end of the run, if a schedule did so before `most` of the run,
        or if the rate was never above `slow` of the usual one and the model gains less than
        `reached`. At 5e-6 or more, it is an `info` for a model with layer norms under AdamW, as
        such rates are usual for the fine-tuning of transformers.

    Example:
        >>> rows = {"a.weight": {"update_ratio": 3e-8}, "b.weight": {"update_ratio": 1e-8}}
        >>> history = History(loss=[2.3, 2.3], lr=[1e-7, 1e-7])
        >>> history.add_table("weight", rows, step=1)
        >>> print(LearningRateTooLow(checks=1).check(history).message)
        a step changes the weights by 2e-08 of their size (limit 5e-06), learning rate 1e-07

    Reference:
        Karpathy (2015), on the ratio of updates to weights, which should be around 0.001.
    """

    advice = "multiply the learning rate by 10 until the loss falls"
    reads = ("weight", "end")
    explains = ("plateau", "layer_imbalance", *NO_PROGRESS)

    certain: float = threshold(5e-6, "Smallest update, relative to the weights.", least=0)
    ratio: float = threshold(1e-4, "The same from step `after` on.", above=0)
    after: int = threshold(50, "Steps to wait for the loss to fall.", least=0)
    checks: int = threshold(3, "Readings in a row that must show it.", least=1)

    def check(self, history: History) -> Finding | None:
        still = None if may_be_fine_tuning(history) else self._hardly_moves(history)
        return still or self.unusual_rate(history) or self.lowered_early(history)

    def _hardly_moves(self, history: History) -> Finding | None:
        newest = history.table("weight")
        limit = self.certain if history.step < self.after else self.ratio
        if newest is None or not usual_update(history, newest) < limit or is_usual(history):
            return None
        tables = self.readings(history, "weight", self.checks)
        if not tables:
            return None
        ratios = [usual_update(history, table) for table in tables]
        rates = history.recent("lr", 20)
        if not all(ratio < limit for ratio in ratios) or (rates and rates[-1] > rates[0]):
            return None
        lowered = bool(rates) and rates[-1] < history.best("lr") / 2
        if lowered and loss_fall(history, self.steps(history)) > self.loss_drop:
            return None
        ratio, relative = max(ratios), relative_rate(history)
        if not ratio and (not history.latest("grad_norm") > 0 or relative > self.unusual):
            return None  # there is no gradient to follow, or none of most kernels
        if not self.learns_badly(history):
            return None
        message = f"a step changes the weights by {ratio:.2g} of their size (limit {limit:g})"
        message += f", learning rate {rates[-1]:g}" if rates else ""
        return self.found(history, message, step=tables[-1].step, ratio=ratio, relative=relative)
