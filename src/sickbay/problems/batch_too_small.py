from dataclasses import replace
from math import isfinite
from statistics import median

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.late_losses import is_restless
from sickbay.problems.shared.learns_badly import RECENT
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.small_batches import batch_size

LATE = 5  # times `after`: then the loss should be lower, whatever chance does
CHANCE = 0.5  # of the median deviation: three standard errors of a median of 100 values


@dataclass(frozen=True, kw_only=True)
class BatchTooSmall(Problem):
    """Momentum adds up the gradients of single samples, and the model does not learn.

    Why it matters:
        The gradient of one sample is mostly noise, and momentum makes steps of ten such gradients.

    How it is judged:
        A batch has at most `samples` samples, the momentum is at least `momentum`, and from step
        `after` on the loss is not finite, or the median of the last 100 losses is above that of the
        first ones. Before five times `after`, it must be above by more than chance: half of the
        median deviation. If the loss is lower, but at the end of the run it has risen in a third of
        the last epochs, the severity is `info`.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(output_shape=(1, 3), settings={"momentum": 0.9})
        >>> history = History(setup, loss=100 * [1.0] + 200 * [1.5])
        >>> print(BatchTooSmall().check(history).message)
        batches of 1 with a momentum of 0.9: the loss is 1.5, initially 1

    Reference:
        Goyal et al. (2017), Accurate, large minibatch SGD, on scaling the rate with the batch.
    """

    advice = "use batches of 16 or more, or a rate ten times as low"
    reads = ("step", "batch", "end")
    explains = ("non_finite", *EVERYTHING)

    samples: int = threshold(2, "Samples in a batch that is too small.", least=1)
    momentum: float = threshold(0.8, "Momentum that is too much for it.", above=0)
    after: int = threshold(100, "Steps that are not judged.", least=0)

    def check(self, history: History) -> Finding | None:
        size = batch_size(history.setup)
        momentum = history.setup.settings.get("momentum", 0.0)
        if not 0 < size <= self.samples or momentum < self.momentum or history.step < self.after:
            return None
        losses, first = history.recent("loss", 10 * RECENT), history.first("loss", 32)
        if not losses or not isfinite(first):
            return None
        finite = [loss for loss in losses if isfinite(loss)]
        now = median(finite) if isfinite(losses[-1]) else losses[-1]
        early = history.step < LATE * self.after and isfinite(now)
        mild = now <= first + (CHANCE * median(abs(loss - now) for loss in finite) if early else 0)
        if mild and not (history.ended and is_restless(history)):
            return None
        message = f"batches of {size} with a momentum of {momentum:g}: the loss is {now:.3g}"
        message += f", initially {first:.3g}" + (", and goes up and down" if mild else "")
        finding = self.found(history, message, loss=now, first=first)
        return replace(finding, severity="info") if mild else finding
