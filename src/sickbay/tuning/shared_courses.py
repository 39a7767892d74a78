"""How the trials of a search have gone, where every one of them can ask.

It lives in a process of its own, which should not have to load torch.
"""

from sickbay.problems.compared import LearningCurve


class SharedCurves:
    """Keeps a course for each trial.

    >>> courses = SharedCurves()
    >>> courses.put("a", LearningCurve([0.5], []))
    >>> courses.others("b"), courses.others("a")
    ([LearningCurve(losses=[0.5], values=[], over=False)], [])
    """

    def __init__(self) -> None:
        self._courses: dict[str, LearningCurve] = {}

    def clear(self) -> None:
        """Forget them all."""
        self._courses.clear()

    def put(self, trial: str, course: LearningCurve) -> None:
        """Keep how a trial has gone so far."""
        self._courses[trial] = course

    def others(self, trial: str) -> list[LearningCurve]:
        """Return how all the others have gone."""
        return [course for name, course in self._courses.items() if name != trial]
