"""AutoTrainer judges a model only while its accuracy is known and low."""

from math import isnan

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, switch, threshold

NAMES = ("accuracy", "val_accuracy")


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
        return self._judged(*(history.epochs(name) for name in NAMES))

    def is_accuracy_low(self, history: History) -> bool:
        curves = self.curves(history)
        if not any(curves):
            so_far = [history.mean_so_far(name) for name in NAMES]
            curves = self._judged(*([] if isnan(mean) else [mean] for mean in so_far))
        known = [value for curve in curves for value in curve if not isnan(value)]
        return bool(known) and max(known) <= self.accuracy

    def _judged(self, training: list[float], validation: list[float]) -> list[list[float]]:
        return [training, validation] if self.validation or not training else [training]

    def unfit(self, history: History, used: str, fitting: tuple[str, ...]) -> Finding | None:
        """Return a finding if what is used is known, but is not one of those that fit the task."""
        if not used or not fitting or used in fitting or not self.is_accuracy_low(history):
            return None
        right = " or ".join(fitting)
        return self.found(history, f"{used} for {history.setup.task}, where {right} is right")
