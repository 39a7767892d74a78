"""What a doctor asks of the object that judges its run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.vitals import Vitals


@dataclass(frozen=True)
class Verdict:
    """The result of one judgement.

    Attributes:
        new: Findings to report.
        explained: Findings that an earlier one explains, each with the name of that problem.
        gone: Problems that are no longer present.
    """

    new: list[Finding] = field(default_factory=list)
    explained: list[tuple[Finding, str]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


class Judging(Protocol):
    """Judges a run: `Causes` for `sickbay.watch`, `BackgroundJudge` for the trials of a search."""

    @property
    def standing(self) -> Sequence[str]:
        """The problems that are present now, except those that another one explains."""

    def add(self, vitals: Vitals) -> None:
        """Take in a reading that was added to the history."""

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Take in the end of an epoch."""

    def judge(self, history: History) -> Verdict:
        """Judge the run so far."""
