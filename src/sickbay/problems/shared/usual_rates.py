"""The learning rates that most often work, by optimizer."""

from math import nan, prod

from sickbay.history import History
from sickbay.tasks import OF_CLASSES
from sickbay.vitals import Setup

SGD_LIKE = ("SGD", "ASGD", "Rprop")
SGD_RATE, ADAPTIVE_RATE = 0.01, 0.001
# Of others, as Prodigy, a usual rate may be 1. They are left alone.
ADAPTIVE_RATES = {
    **dict.fromkeys(
        ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam", "RMSprop"), ADAPTIVE_RATE
    ),
    **dict.fromkeys(("Adam8bit", "AdamW8bit", "PagedAdamW8bit", "FusedAdam"), ADAPTIVE_RATE),
    "Adagrad": 0.01,
    "Lion": 1e-4,
}
USUAL = 0.5  # share of the usual rate from which on small steps show small gradients


def relative_rate(history: History) -> float:
    """Return the learning rate as a multiple of the usual one, NaN if either is not known.

    Momentum counts: with 0.9, a step is ten times as long as the gradient asks for. So does a loss
    that is a sum: over 100 values, its gradient is 100 times that of their mean.

    >>> relative_rate(History(Setup(optimizer="Adam"), lr=[0.1]))
    100.0
    """
    setup, rate = history.setup, history.latest("lr")
    if setup.optimizer not in SGD_LIKE:
        return rate / ADAPTIVE_RATES.get(setup.optimizer, nan)
    longer = summed_values(setup) / (1 - min(setup.settings.get("momentum", 0.0), 0.999))
    return rate * longer / SGD_RATE


def is_usual(history: History) -> bool:
    """Return whether the rate is about as high as usual, or higher.

    >>> [is_usual(History(Setup(optimizer="Adam"), lr=[rate])) for rate in (1e-3, 1e-5)]
    [True, False]
    """
    return relative_rate(history) >= USUAL


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
