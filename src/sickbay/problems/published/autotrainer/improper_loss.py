from sickbay.problems import improper_loss as ours
from sickbay.problems.published.autotrainer.low_accuracy_base import LowAccuracyProblem
from sickbay.problems.shared.base import Finding, History, dataclass
from sickbay.tasks import DISTANCES

RECOMMENDED = {
    "binary": ("bce", "bce_logits"),
    "multiclass": ("cross_entropy", "nll"),
    "next_token": ("cross_entropy", "nll"),
    "multilabel": ("bce", "bce_logits"),
    "regression": DISTANCES,
}


@dataclass(frozen=True, kw_only=True)
class ImproperLoss(LowAccuracyProblem, like=ours.ImproperLoss):
    """The loss is not one of those recommended for the task.

    How it is judged:
        By the task alone: cross-entropy for classes, binary cross-entropy for yes-or-no answers, a
        distance for numbers. This counts only while the accuracy is low.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(loss="mse", task="multiclass")
        >>> print(ImproperLoss().check(History(setup, accuracy=[0.1])).message)
        mse for multiclass, where cross_entropy or nll is right
    """

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        return self.unfit(history, setup.loss, RECOMMENDED.get(setup.task, ()))
