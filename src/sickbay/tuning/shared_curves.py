"""The learning curves of all trials of a search, kept where every trial can ask for them.

On Ray this is an actor, that is a process of its own, which should not have to load torch.
"""

from sickbay.problems.trials.comparison import LearningCurve


class SharedCurves:
    """Keeps one learning curve for each trial.

    >>> curves = SharedCurves()
    >>> curves.put("a", LearningCurve([0.5], []))
    >>> curves.others("b"), curves.others("a")
    ([LearningCurve(losses=[0.5], values=[], over=False)], [])
    """

    def __init__(self) -> None:
        self._curves: dict[str, LearningCurve] = {}

    def clear(self) -> None:
        """Forget all curves."""
        self._curves.clear()

    def put(self, trial: str, curve: LearningCurve) -> None:
        """Store the curve of a trial so far."""
        self._curves[trial] = curve

    def others(self, trial: str) -> list[LearningCurve]:
        """Return the curves of all other trials."""
        return [curve for name, curve in self._curves.items() if name != trial]
