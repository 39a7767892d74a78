"""Longer than 60 lines: a rate can be far below the usual one, or soon be lowered to that."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.problems.shared.training_score import training_score
from sickbay.problems.shared.usual_rates import relative_rate

WINDOW = 512  # learning rates to look back at
FINE_TUNING = 5e-6  # the lowest rate at which transformers are usually adapted


@dataclass(frozen=True, kw_only=True)
class UnusuallyLowRate(LearningProblem):
    """A problem that may also show in a rate far below the usual one, if little is learnt."""

    unusual: float = threshold(
        0.02, "Share of the usual rate at which no other problem is to blame.", least=0
    )
    patience: int = threshold(150, "Steps to wait for a gain over a constant answer.", least=0)
    gain: float = threshold(0.25, "Gain over a constant answer that is little.", above=0)
    lowered: float = threshold(
        0.01, "Share of its highest value to which no schedule should fall early.", above=0
    )
    early: int = threshold(8, "Epochs that are early for it.", least=1)
    learnt: float = threshold(0.7, "Gain of a model that copes with that.", above=0)
    slow: float = threshold(0.4, "Share of the usual rate that is told at the end.", least=0)
    reached: float = threshold(0.6, "Gain below which it is.", above=0)
    most: float = threshold(2 / 3, "Share of a run after which a rate may be lowered.", above=0)

    def stands_alone(self, finding: Finding) -> bool:
        return (
            finding.severity == "info" or 0 < finding.evidence.get("relative", 1.0) <= self.unusual
        )

    def unusual_rate(self, history: History) -> Finding | None:
        """Return a finding if the rate was always low and little is learnt.

        Above `unusual` it is an `info`, told at the end of the run.
        """
        rate, relative = history.latest("lr"), relative_rate(history)
        mild = relative > self.unusual or may_be_fine_tuning(history)
        if not 0 < relative <= self.slow or history.best("lr") > rate:
            return None
        if mild and not history.ended:
            return None
        if history.recent("lr", WINDOW)[0] < rate:  # a warm-up
            return None
        score = training_score(history, self.patience)
        if score is None or not score.gain < (self.reached if mild else self.gain):
            return None
        message = f"learning rate {rate:.3g}, {relative:.3g} of what is usual for"
        message += f" {history.setup.optimizer}; the model {score}"
        found = self.found(history, message, relative=relative, score=score.score)
        return replace(found, severity="info") if mild else found

    def lowered_early(self, history: History) -> Finding | None:
        """Return a finding if a schedule lowered the rate before the model had learnt much.

        Later than `early` it is an `info`, told at the end of the run.
        """
        highest, last = history.best("lr"), history.latest("lr")
        taken = epochs_to_fall(history.epochs("lr"), self.lowered * highest)
        if taken is None or taken > history.epoch * self.most:
            return None
        early = taken <= min(self.early, history.epoch / 3)
        if not early and not history.ended:
            return None
        score = training_score(history, self.patience)
        if score is None or not score.gain < self.learnt:
            return None
        message = f"a schedule took the learning rate from {highest:.3g} to {last:.3g}, and below"
        message += f" {self.lowered:g} of its start in {taken} of {history.epoch} epochs"
        relative = min(relative_rate(history), self.unusual)
        found = self.found(history, f"{message}; the model {score}", relative=relative)
        return found if early else replace(found, severity="info")


def may_be_fine_tuning(history: History) -> bool:
    """Return whether a transformer is trained at a rate at which trained ones are adapted.

    >>> from sickbay.vitals import Setup
    >>> setup = Setup(optimizer="AdamW", layers={"norm": "LayerNorm"})
    >>> [may_be_fine_tuning(History(setup, lr=[rate])) for rate in (2e-5, 1e-7)]
    [True, False]
    """
    setup = history.setup
    fits = setup.optimizer == "AdamW" and "LayerNorm" in setup.layers.values()
    return fits and history.latest("lr") >= FINE_TUNING


def epochs_to_fall(rates: Sequence[float], limit: float) -> int | None:
    """Return after how many epochs a rate that fell in each of them was below a limit for good.

    None if it never was, or if it rested on the way, as schedules do that wait for a plateau.

    >>> epochs_to_fall([1.0, 0.1, 0.001, 0.0], 0.01), epochs_to_fall([1.0, 0.1, 0.1, 0.001], 0.01)
    (2, None)
    """
    taken = sum(rate >= limit for rate in rates)
    falling = all(after < before for before, after in pairwise(rates[: taken + 1]))
    return taken if taken < len(rates) and falling and max(rates[taken:]) < limit else None
