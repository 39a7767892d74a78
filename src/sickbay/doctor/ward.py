"""Which problems stand at the moment: each is said once, and once more when it is gone."""

from collections.abc import Iterable, Sequence

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.vitals.guard import Guard

PATIENCE = 5  # judgements without it before a problem counts as gone


class Ward:
    """Asks the problems and remembers which of them stand."""

    def __init__(self, problems: Sequence[Problem], guard: Guard) -> None:
        self.problems = {problem.name(): problem for problem in problems}
        self._guard = guard
        self._absent: dict[str, int] = {}  # standing problems, and how long they were not seen

    @property
    def standing(self) -> Iterable[str]:
        """The names of the problems that stand."""
        return self._absent.keys()

    def judge(self, history: History) -> tuple[list[Finding], list[str]]:
        """Ask every problem; return the new findings, and the names of problems that are gone."""
        new, gone = [], []
        for name, problem in self.problems.items():
            finding = self._guard.run(f"problem {name}", problem.check, history)
            if finding is not None:
                if name not in self._absent:
                    new.append(finding)
                self._absent[name] = 0
            elif name in self._absent:
                self._absent[name] += 1
                if self._absent[name] >= PATIENCE:
                    del self._absent[name]
                    gone.append(name)
        return new, gone
