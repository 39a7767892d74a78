"""Checks at the end of every few epochs, on the state of that epoch, as AutoTrainer makes them."""

from collections.abc import Mapping, Sequence

from sickbay.doctor.judge_protocol import Verdict
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.vitals import Vitals


class EpochChecks:
    """Judges a run at the end of every `every`-th epoch, and at no other time.

    `reads` tells which steps to measure: the last one of every epoch that is checked. It knows the
    length of an epoch from the one before. Before that, `steps` is the length. If it is not known,
    all steps of the epoch are measured.

    Attributes:
        found: What the last check found, by priority.
    """

    def __init__(self, problems: Sequence[Problem], every: int, steps: int | None = None) -> None:
        self._problems, self._every, self._steps = problems, every, steps
        self._epoch, self._first, self._count = 0, 0, 0  # and steps before and in this epoch
        self._due = False
        self._guard = Guard(lambda _part, _error: None)
        self.found: list[Finding] = []

    def listen(self, guard: Guard) -> None:
        """Run the problems under this guard, which reports those that fail."""
        self._guard = guard

    @property
    def standing(self) -> list[str]:
        """The problems that the last check found."""
        return [finding.problem for finding in self.found]

    def reads(self, step: int) -> bool:
        """Return whether to measure a step."""
        if self._steps is None:
            return (self._epoch + 1) % self._every == 0
        epochs, rest = divmod(step + 1 - self._first, self._steps)
        return rest == 0 and (self._epoch + epochs) % self._every == 0

    def add(self, vitals: Vitals) -> None:  # noqa: ARG002
        """Count a step."""
        self._count += 1

    def end_epoch(self, metrics: Mapping[str, float]) -> None:  # noqa: ARG002
        """Note that an epoch is over."""
        self._epoch += 1
        self._first += self._count
        self._steps, self._count = self._count or None, 0
        self._due = self._epoch % self._every == 0

    def judge(self, history: History) -> Verdict:
        """Check every problem if an epoch has ended that is to be checked."""
        if not self._due:
            return Verdict()
        self._due, before = False, self.standing
        found = [
            self._guard.run(f"problem {each.name()}", each.check, history)
            for each in self._problems
        ]
        self.found = [finding for finding in found if finding is not None]
        gone = [name for name in before if name not in self.standing]
        return Verdict([each for each in self.found if each.problem not in before], [], gone)
