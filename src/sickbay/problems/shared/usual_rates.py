"""The learning rates that most often work, by optimizer."""

from math import nan

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.small_batches import SampledProblem
from sickbay.problems.shared.training_score import training_score

SGD_LIKE = ("SGD", "ASGD", "Rprop")
FREE = ("LBFGS", "Adafactor", "Adadelta", "Muon")  # whose rates mean something else
SGD_RATE, ADAPTIVE_RATE = 0.01, 0.001
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

    def unusual_rate(self, history: History) -> Finding | None:
        """Return a finding if the rate is unusually high and the model has learnt little."""
        optimizer, relative = history.setup.optimizer, relative_rate(history)
        wide = RANGE if optimizer in SGD_LIKE else 1
        if not relative > wide * self.unusual:
            return None
        score = training_score(history, self.after)
        if score is None or not score.gain < self.gain:
            return None
        message = f"learning rate {history.latest('lr'):.3g}, {relative:.3g} times as high as usual"
        message += f" for {optimizer}; the model {score}"
        return self.found(history, message, relative=relative, score=score.score)


def relative_rate(history: History) -> float:
    """Return the learning rate as a multiple of the usual one, NaN if either is not known.

    Momentum counts: with 0.9, a step is ten times as long as the gradient asks for.

    >>> from sickbay.vitals import Setup
    >>> relative_rate(History(Setup(optimizer="Adam"), lr=[0.1]))
    100.0
    """
    setup, rate = history.setup, history.latest("lr")
    if not setup.optimizer or setup.optimizer in FREE or "," in setup.optimizer:
        return nan
    if setup.optimizer not in SGD_LIKE:
        return rate / ADAPTIVE_RATE
    return rate / (1 - min(setup.settings.get("momentum", 0.0), 0.999)) / SGD_RATE
