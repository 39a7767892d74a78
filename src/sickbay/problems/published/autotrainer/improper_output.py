from sickbay.problems import improper_output as ours
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass

RECOMMENDED = {
    "binary": ("sigmoid",),
    "multiclass": ("softmax", "log_softmax"),
    "next_token": ("softmax", "log_softmax"),
    "multilabel": ("sigmoid",),
    "regression": ("linear",),
}


@dataclass(frozen=True, kw_only=True)
class ImproperOutput(LowAccuracyProblem, like=ours.ImproperOutput):
    """The activation of the last layer is not the one recommended for the task.

    How it is judged:
        By the task alone: sigmoid for yes-or-no answers, softmax for classes, no activation for
        numbers and (unlike in the paper) before losses that take logits. This counts only while the
        accuracy is low.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(loss="mse", output="relu", task="regression")
        >>> print(ImproperOutput().check(History(setup, accuracy=[0.1])).message)
        relu for regression, where linear is right
    """

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        logits = setup.loss in ours.TAKES_LOGITS
        fitting = ("linear",) if logits else RECOMMENDED.get(setup.task, ())
        return self.unfit(history, setup.output, fitting)
