from math import inf, sqrt
from operator import mul
from statistics import fmean

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.small_batches import batch_size

READINGS, MANY = 16, 512  # to judge, and to look back at
LEAST = 4  # of them that must know something
EARLY, LONG = 0.55, 400  # share of the run before the oldest reading, or steps since then
LASTING = 0.9  # of the errors in the first half of these readings, left in the second
EVEN = 0.3  # standard deviation of evenly distributed ranks from 0 to 1


@dataclass(frozen=True, kw_only=True)
class NoisyLabels(Problem):
    """Many labels are wrong: where the model is sure, they contradict it at random.

    Why it matters:
        A model that is trained for long learns the wrong labels by heart.

    How it is judged:
        For four classes or more, in the readings from step `after` on in which the model gets
        `gain` of what a constant answer gets wrong. Among the half of each batch of which the model
        is surest, the answers contradict at least `share` of the labels, at least `flat` times as
        many as in the whole batch, and this does not get better in the second half of the run so
        far. The errors of a model on hard samples become rarer the surer it is, and the longer it
        trains. The labels are also far from the model's choice: their mean rank among the other
        classes, from 0 for the second choice to 1 for the last, is above `distance` by two standard
        errors, over at least `errors` of them. The label of a hard sample is one of the first.

    Example:
        >>> from sickbay.vitals import Setup
        >>> found = {"score": 0.6, "constant_score": 0.1, "sure_errors": 0.4, "sure_distance": 0.5}
        >>> many = {name: 120 * [value] for name, value in found.items()}
        >>> history = History(Setup(output_shape=(32, 10)), **many)
        >>> print(NoisyLabels().check(history).message)
        40 % of the labels contradict the model where it is sure (limit 15 %), and at random

    Reference:
        Northcutt et al. (2021), Confident learning: estimating uncertainty in dataset labels.
    """

    advice = "look at the samples that the model is surest about and gets wrong"
    reads = ("batch",)
    explains = ("overfitting", "underfitting", "network_too_small", "loss_spike")

    after: int = threshold(40, "Steps to wait until the model knows something.", least=0)
    gain: float = threshold(
        0.3, "Share of what a constant answer gets wrong that the model gets right.", above=0
    )
    share: float = threshold(0.15, "Share of wrong answers among the surer half.", above=0, most=1)
    flat: float = threshold(0.6, "The same share, relative to that in whole batches.", above=0)
    distance: float = threshold(0.25, "Mean rank of labels that is far from the choice.", least=0)
    errors: int = threshold(24, "Labels that contradict the model needed.", least=1)

    def check(self, history: History) -> Finding | None:
        known = self._known(history, READINGS)
        half = batch_size(history.setup) // 2
        if len(known) < LEAST:
            return None
        _, wrong, sure, distances = zip(*known, strict=True)
        share, count = fmean(sure), half * sum(sure)
        if share < self.share or share < self.flat * fmean(wrong) or count < self.errors:
            return None
        distance = sum(map(mul, sure, distances)) / sum(sure)
        if not distance - 2 * EVEN / sqrt(count) > self.distance or not self._lasts(history):
            return None
        message = (
            f"{100 * share:.0f} % of the labels contradict the model where it is sure "
            f"(limit {100 * self.share:g} %), and at random"
        )
        return self.found(history, message, share=share, distance=distance)

    def _lasts(self, history: History) -> bool:
        """Return whether there are as many errors as long before, when the model knew less."""
        newest = history.step
        known = [each for each in self._known(history, MANY) if each[0] >= newest / 2]
        if len(known) < LEAST or known[0][0] > max(EARLY * newest, newest - LONG):
            return False
        half = len(known) // 2
        _, *before = zip(*known[:half], strict=True)
        _, *after = zip(*known[half:], strict=True)
        return all(fmean(after[each]) >= LASTING * fmean(before[each]) for each in (0, 1))

    def _known(self, history: History, count: int) -> list[tuple[int, float, float, float]]:
        """Return step, share of wrong answers, that among the surer half, and how far off."""
        scores, distances = (
            dict(history.timed(name, 2 * count)) for name in ("score", "sure_distance")
        )
        constant = history.latest("constant_score")
        least = constant + self.gain * (1 - constant)
        return [
            (step, 1 - scores[step], sure, distances.get(step, 0.0))
            for step, sure in history.timed("sure_errors", count)
            if step >= self.after and scores.get(step, -inf) >= least
        ]
