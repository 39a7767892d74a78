"""AutoTrainer judges a model only while its accuracy is known and low."""

from math import isnan

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, switch, threshold


@dataclass(frozen=True, kw_only=True)
class LowAccuracyProblem(Problem):
    """A problem that counts only while the accuracy is known and low.

    The accuracy of an epoch is the mean over its steps. The first epoch counts before it is over.
    """

    accuracy: float = threshold(
        0.7, "A model that has reached a higher accuracy is left alone.", least=0
    )
    validation: bool = switch(
        False, "Judge the validation accuracy as well, as the published code does."
    )

    def curves(self, history: History) -> list[list[float]]:
        """Return the accuracies to judge, one for each epoch.

        Without a training accuracy, the validation accuracy takes its place.
        """
        training, validation = (history.epochs(name) for name in ("accuracy", "val_accuracy"))
        if self.validation or not training:
            return [training, validation]
        return [training]

    def is_accuracy_low(self, history: History) -> bool:
        values = [value for curve in self.curves(history) for value in curve]
        if not values:
            values = [history.mean_so_far(name) for name in ("accuracy", "val_accuracy")]
        known = [value for value in values if not isnan(value)]
        return bool(known) and max(known) <= self.accuracy

    def unfit(self, history: History, used: str, fitting: tuple[str, ...]) -> Finding | None:
        """Return a finding if what is used is known, but is not one of those that fit the task."""
        if not used or not fitting or used in fitting or not self.is_accuracy_low(history):
            return None
        right = " or ".join(fitting)
        return self.found(history, f"{used} for {history.setup.task}, where {right} is right")
