from dataclasses import replace
from math import ceil, isfinite

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.yardsticks import Yardstick, metric_in, named
from sickbay.problems.still_falling import StillFalling


@dataclass(frozen=True, kw_only=True)
class Underfitting(Problem):
    """The run ends clearly below what simple means reach on the same data.

    Why it matters:
        Nothing has gone wrong visibly, but the model has learnt less than the data offer.

    How it is judged:
        All planned epochs are done, or the score has not risen for `stalled` of them. The best
        score is below a quick reference by more than 5 points and twice its standard error, or no
        better than the best constant answer although the reference is. A run whose loss was still
        falling at its end (see `still_falling`) must be as close to the reference as a success of
        a repair: 5 points and 15 % of the way from the constant answer, or one standard error. A
        repair knows both scores; without them, nothing is said.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(epochs=2, constant=0.3, reference=0.957, held_out=200))
        >>> history.end_epoch(val_accuracy=0.25)
        >>> history.end_epoch(val_accuracy=0.31)
        >>> history.ended = True
        >>> print(Underfitting().check(history).message)
        the best accuracy is 0.31; the best constant answer gets 0.3, a quick reference 0.957
    """

    advice = "train longer, enlarge the model, or return to usual settings"
    reads = ("epoch", "end")

    stalled: float = threshold(
        0.5, "Share of the planned epochs without a better score that ends a run.", above=0, most=1
    )
    least: int = threshold(10, "Epochs without a better score at least.", least=1)

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        metric, sign = metric_in(history.epoch_names())
        scores = [sign * each for each in history.epochs(metric) if isfinite(each)]
        known = setup.constant is not None or setup.reference is not None
        if not known or not self._is_over(history, scores):
            return None
        best = max(scores, default=float("-inf"))
        yardstick = Yardstick(setup.constant, setup.reference, metric, setup.held_out)
        lost = yardstick.reference is None or yardstick.beats_constant(yardstick.reference)
        useless = lost and not yardstick.beats_constant(best)
        cut_short = not yardstick.is_near(best) and StillFalling().check(history) is not None
        if not (useless or yardstick.is_below_reference(best) or cut_short):
            return None
        message = f"the best {named(metric)} is {sign * best:.3g}; {yardstick.told(sign)}"
        message += "; the loss was still falling" if cut_short else ""
        numbers = {"constant": setup.constant, "reference": setup.reference}
        evidence = {name: each for name, each in numbers.items() if each is not None}
        return replace(self.found(history, message), evidence={"best": best, **evidence})

    def _is_over(self, history: History, scores: list[float]) -> bool:
        planned, done = history.setup.epochs, history.epoch
        if planned is None or done >= planned:
            return history.ended
        since = len(scores) - 1 - scores.index(max(scores)) if scores else 0
        return since >= max(self.least, ceil(self.stalled * planned))
