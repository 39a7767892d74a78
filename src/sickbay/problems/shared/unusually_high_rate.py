"""Problems that may show in a learning rate far above the usual one."""

from dataclasses import replace

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.late_losses import is_restless, late_losses, rises
from sickbay.problems.shared.small_batches import SampledProblem
from sickbay.problems.shared.training_score import training_score
from sickbay.problems.shared.usual_rates import SGD_LIKE, relative_rate, summed_values

RANGE = 10  # sound rates of SGD range so many times as far as those of others


@dataclass(frozen=True, kw_only=True)
class UnusuallyHighRate(SampledProblem):
    """A problem that may also show in a rate far above the usual one, if little is learnt."""

    unusual: float = threshold(
        14.0,
        "Multiple of the optimizer's usual rate that is too high if little is learnt.",
        above=1,
    )
    gain: float = threshold(0.25, "Gain over a constant answer that is little.", above=0)
    after: int = threshold(150, "Steps to wait for that gain.", least=0)

    def stands_alone(self, finding: Finding) -> bool:
        return "relative" in finding.evidence

    def is_unusual(self, history: History) -> bool:
        """Return whether the rate is unusually high."""
        wide = RANGE if history.setup.optimizer in SGD_LIKE else 1
        return relative_rate(history) > wide * self.unusual

    def unusual_rate(self, history: History) -> Finding | None:
        """Return a finding if the rate is unusually high and the model has learnt little."""
        optimizer, relative = history.setup.optimizer, relative_rate(history)
        if not self.is_unusual(history):
            return None
        score = training_score(history, self.after)
        if score is None or not score.gain < self.gain:
            return None
        count = summed_values(history.setup)
        message = f"learning rate {history.latest('lr'):.3g}"
        message += f" on the sum of {count} losses" if count > 1 else ""
        message += f", {relative:.3g} times as high as usual"
        message += f" for {optimizer}; the model {score}"
        return self.found(history, message, relative=relative, score=score.score)

    def restless_end(self, history: History) -> Finding | None:
        """Return an `info` if the rate is unusually high, and the loss rose as often as it fell."""
        if not history.ended or not self.is_unusual(history) or not is_restless(history):
            return None
        losses = late_losses(history)
        relative = relative_rate(history)
        message = f"learning rate {history.latest('lr'):.3g}, {relative:.3g} times as high as usual"
        message += f" for {history.setup.optimizer}; in the second half of the run the loss rose"
        message += f" {rises(losses)} times of {len(losses) - 1}, and a lower rate might get lower"
        return replace(self.found(history, message, relative=relative), severity="info")
