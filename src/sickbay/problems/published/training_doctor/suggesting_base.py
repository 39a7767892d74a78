"""Problems for which the paper suggests something."""

from sickbay.findings import Suggestion
from sickbay.problems.published.training_doctor.suggestions import suggestions
from sickbay.problems.shared.base import Problem


class SuggestingProblem(Problem):
    """A problem whose findings bring the paper's suggestions."""

    def suggest(self, times: int) -> tuple[Suggestion, ...]:
        return suggestions(self.name(), times)
