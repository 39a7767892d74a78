from sickbay.problems import improper_output as ours
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass
from sickbay.tasks import APPLIES
from sickbay.vitals import Setup

RECOMMENDED = {
    "binary": ("sigmoid",),
    "multiclass": ("softmax", "log_softmax"),
    "next_token": ("softmax", "log_softmax"),
    "multilabel": ("sigmoid",),
    "regression": ("linear",),
}

TAKES_LOG_PROBABILITIES = ("nll", "kl_div")


def fitting_outputs(setup: Setup) -> tuple[str, ...]:
    """Return the output activations for a task and a loss, the usual one first.

    >>> fitting_outputs(Setup(task="multiclass", loss="mse"))
    ('softmax', 'log_softmax')
    >>> fitting_outputs(Setup(task="multiclass", loss="cross_entropy"))
    ('linear',)
    """
    if setup.loss in APPLIES:
        return ("linear",)
    if setup.loss in TAKES_LOG_PROBABILITIES:
        return ("log_softmax",)
    return RECOMMENDED.get(setup.task, ())


@dataclass(frozen=True, kw_only=True)
class ImproperOutput(LowAccuracyProblem, like=ours.ImproperOutput):
    """The activation of the last layer is not the one recommended for the task.

    How it is judged:
        By the task: sigmoid for yes-or-no answers, softmax for classes, no activation for numbers.
        Unlike in the paper, losses that take logits or log-probabilities come first: they need no
        activation or a log-softmax. This counts only while the accuracy is low.

    Example:
        >>> setup = Setup(loss="mse", output="relu", task="regression")
        >>> print(ImproperOutput().check(History(setup, accuracy=[0.1])).message)
        relu for regression, where linear is right
    """

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        return self.unfit(history, setup.output, fitting_outputs(setup))
