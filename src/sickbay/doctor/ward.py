"""Which problems stand at the moment: each is said once, by its cause, and once when it is gone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.base import Source
from sickbay.readings import KINDS
from sickbay.vitals.guard import Guard

PATIENCE = 5  # judgements without it before a problem counts as gone


class Ward:
    """Asks the problems, and remembers which of them stand.

    A problem is asked when something it reads is new. What another standing problem explains stands
    too, but is no finding of its own: it is named among the consequences of that one. The order of
    the problems is that of their priority.
    """

    def __init__(self, problems: Sequence[Problem], guard: Guard) -> None:
        self.problems = {problem.name(): problem for problem in problems}
        self._guard = guard
        self._absent: dict[str, int] = {}  # standing problems, and how long they were not seen
        self._explained: set[str] = set()  # those of them that another one explains
        self._seen: dict[Source, int] = {}  # the step, or epoch, of what was judged last

    @property
    def standing(self) -> list[str]:
        """The names of the problems that stand and are explained by no other, by priority."""
        return [name for name in self.problems if name in self._absent.keys() - self._explained]

    def judge(self, history: History) -> tuple[list[Finding], list[str]]:
        """Ask the problems; return the new findings, and the names of problems that are gone."""
        fresh = self._fresh(history)
        found: dict[str, Finding] = {}
        gone: list[str] = []
        for name, problem in self.problems.items():
            if fresh.isdisjoint(problem.reads):
                continue
            finding = self._guard.run(f"problem {name}", problem.check, history)
            if finding is not None:
                found[name] = finding
            elif name in self._absent:
                self._absent[name] += 1
                if self._absent[name] >= PATIENCE:
                    gone += self._discharge(name)
        new = [name for name in found if name not in self._absent]
        self._absent.update(dict.fromkeys(found, 0))
        return self._by_cause(new, found), gone

    def _fresh(self, history: History) -> set[Source]:
        """Return what has come in since the last time."""
        now: dict[Source, int] = {"step": history.step, "epoch": history.epoch}
        for kind in KINDS:
            if (table := history.table(kind)) is not None:
                now[kind] = table.step
        fresh = {source for source, place in now.items() if self._seen.get(source) != place}
        self._seen = now
        return fresh

    def _by_cause(self, new: Sequence[str], found: Mapping[str, Finding]) -> list[Finding]:
        """Return the findings to be said, each with what it explains."""
        causes = {name: self._cause(name) for name in new}
        self._explained |= {name for name, cause in causes.items() if cause != name}
        return [
            replace(found[name], consequences=tuple(n for n in new if n != name == causes[n]))
            for name in new
            if causes[name] == name
        ]

    def _cause(self, name: str) -> str:
        """Return the standing problem that explains another one in the end; it may be itself."""
        met = [name]
        while True:
            explaining = (
                cause
                for cause, problem in self.problems.items()
                if cause in self._absent and met[-1] in problem.explains and cause not in met
            )
            cause = next(explaining, None)
            if cause is None:
                return met[-1]
            met.append(cause)

    def _discharge(self, name: str) -> list[str]:
        """Let a problem go; what only it has explained is a finding of its own if seen again."""
        del self._absent[name]
        was_said = name not in self._explained
        self._explained.discard(name)
        for other in list(self._explained):
            if self._cause(other) == other:
                self._explained.discard(other)
                del self._absent[other]
        return [name] if was_said else []
