"""The learning rates that most often work, by optimizer."""

from math import nan, prod

from sickbay.problems.shared.base import Finding, History, dataclass, threshold
from sickbay.problems.shared.small_batches import SampledProblem
from sickbay.problems.shared.training_score import training_score
from sickbay.tasks import OF_CLASSES
from sickbay.vitals import Setup

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


def relative_rate(history: History) -> float:
    """Return the learning rate as a multiple of the usual one, NaN if either is not known.

    Momentum counts: with 0.9, a step is ten times as long as the gradient asks for. So does a loss
    that is a sum: over 100 values, its gradient is 100 times that of their mean.

    >>> relative_rate(History(Setup(optimizer="Adam"), lr=[0.1]))
    100.0
    """
    setup, rate = history.setup, history.latest("lr")
    if not setup.optimizer or setup.optimizer in FREE or "," in setup.optimizer:
        return nan
    if setup.optimizer not in SGD_LIKE:
        return rate / ADAPTIVE_RATE
    longer = summed_values(setup) / (1 - min(setup.settings.get("momentum", 0.0), 0.999))
    return rate * longer / SGD_RATE


def summed_values(setup: Setup) -> int:
    """Return over how many values a loss is the sum, 1 if it is a mean.

    >>> summed_values(Setup(loss="mse", summed=True, output_shape=(32, 8)))
    256
    >>> summed_values(Setup(loss="cross_entropy", summed=True, output_shape=(32, 10)))
    32
    """
    if not setup.summed or not setup.output_shape:
        return 1
    one_of_many = setup.loss in OF_CLASSES
    return prod(setup.output_shape[:-1] if one_of_many else setup.output_shape)
