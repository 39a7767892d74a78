"""What a doctor knows, for anyone to read."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from sickbay.doctor.governor import Governor
from sickbay.doctor.judge_protocol import Judging
from sickbay.doctor.run_log import RunLog
from sickbay.findings import Event, Finding
from sickbay.health import UNKNOWN, Health
from sickbay.history import History
from sickbay.probe.guard import Guard
from sickbay.probe.probe import Probe

if TYPE_CHECKING:
    from sickbay.doctor.treatment import Treater, Treatment


class DoctorView:
    """The properties of a `Doctor`. Reading one takes in every value that is still on a GPU."""

    _guard: Guard
    _governor: Governor
    _history: History
    _judge: Judging
    _log: RunLog
    _probe: Probe
    _treater: Treater | None

    def __repr__(self) -> str:
        step, found = self._guard.run("history", lambda: self._history.step), self._log.findings
        return f"<Doctor at step {step}: {len(found)} findings, {self.overhead:.1%} of the time>"

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far, oldest first."""
        self._guard.run("doctor", self._wait)
        return self._log.findings

    @property
    def events(self) -> list[Event]:
        """Findings, what became of them, skipped steps and failures of sickbay, oldest first."""
        self._guard.run("doctor", self._wait)
        return self._log.events

    @property
    def health(self) -> Health:
        """How the run is doing: its state, the trend of its loss, and why."""
        self._guard.run("doctor", self._add_passed)
        self._guard.run("doctor", self._wait)
        found = self._guard.run("health", lambda: self._log.health(self._judge.standing))
        return found or UNKNOWN

    @property
    def reports(self) -> list[Health]:
        """How the run was doing, after every `report_every`-th validation."""
        return self._log.reports

    @property
    def treatments(self) -> list[Treatment]:
        """What was done to the loop, oldest first; only with `on_finding="treat"`."""
        return [] if self._treater is None else self._treater.treatments

    @property
    def history(self) -> History:
        """The readings so far."""
        self._guard.run("doctor", self._add_passed)
        self._guard.run("doctor", self._wait)
        return self._history

    @property
    def chart(self) -> Path | None:
        """The folder the run is recorded in, if any."""
        return self._log.path

    @property
    def example(self) -> tuple[Tensor, ...]:
        """The tensors among the inputs of the newest training batch."""
        locator = self._probe.nan_locator
        return () if locator is None else tuple(self._guard.run("example", locator.inputs) or ())

    @property
    def overhead(self) -> float:
        """The fraction of the loop's time that was spent in sickbay."""
        return self._guard.run("overhead", lambda: self._governor.overhead) or 0.0

    @abstractmethod
    def _wait(self) -> None:
        """Wait for all values."""

    @abstractmethod
    def _add_passed(self) -> int:
        """Add the steps that passed to the history."""
