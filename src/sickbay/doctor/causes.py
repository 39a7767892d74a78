"""Which problems are present: each is reported once, under its cause, and once when it is gone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sickbay.doctor.judge_protocol import Verdict
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.problems.shared.base import Source
from sickbay.vitals import KINDS, Vitals

# Judgements without a problem before it counts as gone, doubled each time it was reported.
PATIENCE = 10
# Steps for which a problem that is gone still explains others: its damage lasts longer.
EXPLAINS_FOR = 200


class Causes:
    """Checks the problems, and remembers which of them are present.

    A problem is checked when something it reads is new. If another problem explains it, now or
    lately, it is listed among that one's consequences instead of being reported. Problems are in
    order of priority. An `info` explains nothing that is found at the same time.
    """

    def __init__(self, problems: Sequence[Problem], guard: Guard) -> None:
        self.problems = {problem.name(): problem for problem in problems}
        self._guard = guard
        self._absent: dict[str, int] = {}  # judgements without each problem that is present
        self._said: Counter[str] = Counter()  # how often each was reported
        self._until: dict[str, int] = {}  # the last step at which each explains others
        self._explained: set[str] = set()  # present problems that another one explains
        self._seen: dict[Source, int] = {}  # the step or epoch of what was judged last

    @property
    def standing(self) -> list[str]:
        """The problems that are present and not explained by another, by priority."""
        return [name for name in self.problems if name in self._absent.keys() - self._explained]

    def add(self, vitals: Vitals) -> None:
        """Do nothing: the history has all that the problems read."""

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Do nothing, for the same reason."""

    def judge(self, history: History) -> Verdict:
        """Check every problem that reads something new."""
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
                gone += self._note_absence(name)
        for name, finding in found.items():
            lasts = self.problems[name].lasts(finding)
            self._until[name] = history.step + (EXPLAINS_FOR if lasts else 0)
        new = {name: finding for name, finding in found.items() if name not in self._absent}
        self._absent.update(dict.fromkeys(found, 0))
        return self._by_cause(new, gone, history.step) if new or gone else Verdict()

    def _fresh(self, history: History) -> set[Source]:
        """Return the sources with something new since the last judgement."""
        now: dict[Source, int] = {
            "step": history.step, "epoch": history.epoch, "end": int(history.ended)
        }  # fmt: skip
        for kind in KINDS:
            if (table := history.table(kind)) is not None:
                now[kind] = table.step
        fresh = {source for source, place in now.items() if self._seen.get(source) != place}
        self._seen = now
        return fresh

    def _note_absence(self, name: str) -> list[str]:
        """Count a judgement without a present problem; return its name if it is gone now."""
        self._absent[name] += 1
        if self._absent[name] < PATIENCE * 2 ** max(self._said[name] - 1, 0):
            return []
        del self._absent[name]
        if name in self._explained:
            self._explained.remove(name)
            return []
        return [name]

    def _by_cause(self, new: Mapping[str, Finding], gone: list[str], step: int) -> Verdict:
        """Split new findings into those to report, with their consequences, and the others."""
        lately = [name for name in self._said if step <= self._until[name]]
        alone = {name for name in new if self.problems[name].stands_alone(new[name])}
        again = alone & {*lately}  # what stands alone is said once
        alone -= again
        grave = [name for name, finding in new.items() if finding.severity != "info"]
        causes = {}
        for name in new:
            before = [each for each in new if each in (name, *grave)]
            causes[name] = name if name in alone else self._cause(name, before, lately)
        own = [name for name, cause in causes.items() if cause == name and name not in again]
        self._explained |= new.keys() - {*own, *again}
        self._said.update(own)
        verdict = Verdict(gone=gone)
        for name, finding in new.items():
            cause = causes[name]
            if name in own:
                consequences = tuple(n for n in new if n != name and causes[n] == name)
                verdict.new.append(replace(finding, consequences=consequences))
            elif cause not in new:
                verdict.explained.append((finding, cause))
        return verdict

    def _cause(self, name: str, new: Sequence[str], lately: Sequence[str]) -> str:
        """Return the cause of a problem: one reported before, else a new one of higher priority."""
        while True:
            said = (cause for cause in lately if name in self.problems[cause].explains)
            before = new[: new.index(name)]
            now = (cause for cause in before if name in self.problems[cause].explains)
            if (cause := next(said, None)) is not None:
                return cause
            if (cause := next(now, None)) is None:
                return name
            name = cause
