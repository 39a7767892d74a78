"""Problems that may show in a learning rate far below the usual one, or soon lowered to that."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.learns_badly import LearningProblem
from sickbay.problems.shared.training_score import training_score
from sickbay.problems.shared.usual_rates import relative_rate


@dataclass(frozen=True, kw_only=True)
class UnusuallyLowRate(LearningProblem):
    """A problem that may also show in a rate far below the usual one, if little is learnt."""

    unusual: float = threshold(
        0.02, "Share of the usual rate at which no other problem is to blame.", least=0
    )
    patience: int = threshold(150, "Steps to wait for a gain over a constant answer.", least=0)
    lowered: float = threshold(
        0.01, "Share of its highest value to which no schedule should fall early.", above=0
    )
    early: int = threshold(8, "Epochs that are early for it.", least=1)
    learnt: float = threshold(0.7, "Gain of a model that copes with that.", above=0)

    slow: float = threshold(0.15, "Share of the usual rate that is told at the end.", least=0)
    most: float = threshold(2 / 3, "Share of a run after which a rate may be lowered.", above=0)

    def stands_alone(self, finding: Finding) -> bool:
        return (
            finding.severity == "info" or 0 < finding.evidence.get("relative", 1.0) <= self.unusual
        )

    def lowered_early(self, history: History) -> Finding | None:
        """Return a finding if a schedule lowered the rate before the model had learnt much."""
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


def epochs_to_fall(rates: Sequence[float], limit: float) -> int | None:
    """Return after how many epochs a rate that fell in each of them was below a limit for good.

    None if it never was, or if it rested on the way, as schedules do that wait for a plateau.

    >>> epochs_to_fall([1.0, 0.1, 0.001, 0.0], 0.01), epochs_to_fall([1.0, 0.1, 0.1, 0.001], 0.01)
    (2, None)
    """
    taken = sum(rate >= limit for rate in rates)
    falling = all(after < before for before, after in pairwise(rates[: taken + 1]))
    return taken if taken < len(rates) and falling and max(rates[taken:]) < limit else None
