"""What the doctor prints, keeps and records."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from sickbay.chart import ChartWriter
from sickbay.doctor.advice import Adviser, together
from sickbay.doctor.judge_protocol import Verdict
from sickbay.findings import Event, EventKind, Finding, by_priority
from sickbay.health import Health, assess
from sickbay.history import History
from sickbay.printable import error_summary
from sickbay.probe.distributed import is_first
from sickbay.probe.guard import Guard
from sickbay.problems import Problem
from sickbay.reports import terminal
from sickbay.vitals import Setup, Vitals

if TYPE_CHECKING:
    from sickbay.remedies import Remedy

OnFinding: TypeAlias = Literal["advise", "silent", "stop", "treat"] | Callable[[Finding], object]

WAITING = (
    "every reading waits for the GPU: to read without waiting, install Triton and keep the whole "
    "model on CUDA devices."
)
UNHEARD = (
    "no layer's output could be read at this step: the model was not called, or is in eval mode, "
    "or was compiled before it was watched (watch first, or call torch._dynamo.reset())."
)
SCRIPTED = (
    "modules made by torch.jit.script take no hooks: their gradients and weights are read, but not "
    "their outputs."
)


class RunLog:
    """Keeps findings and events, prints them, and writes the chart if there is one."""

    def __init__(
        self,
        history: History,
        problems: Sequence[Problem],
        on_finding: OnFinding,
        chart: str | os.PathLike[str] | None,
        remedies: Mapping[str, Sequence[Remedy]] | None = None,
        report_every: int = 0,
    ) -> None:
        self.findings: list[Finding] = []
        self.events: list[Event] = []
        self.reports: list[Health] = []
        self.to_raise: list[Finding] = []
        self.guard = Guard(self.trouble)
        self.plan: Callable[[Finding, str], bool] | None = None  # returns whether it is treated
        self._history, self._on_finding = history, on_finding
        self._adviser, self._report_every = Adviser(problems, remedies), report_every
        self._said: set[str] = set()
        self._chart = None if chart is None else ChartWriter(chart, history.setup, self.notice)
        self.path = None if self._chart is None else self._chart.path  # the folder of the chart
        if chart is not None and self.path != Path(chart).absolute():
            self.notice(f"{chart} holds a run already; this one is recorded in {self.path}.")

    @property
    def treats(self) -> bool:
        """Whether findings are treated."""
        return self._on_finding == "treat"

    def vitals(self, vitals: Vitals) -> None:
        """Record a reading."""
        if self._chart is not None:
            self.guard.run("chart", self._chart.append, vitals)

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Record the end of an epoch."""
        if self._chart is not None:
            self.guard.run("chart", self._chart.end_epoch, self._history.epoch, metrics)

    def setup(self, setup: Setup) -> None:
        """Record the setup of the run."""
        if self._chart is not None:
            self.guard.run("chart", self._chart.setup, setup)

    def verdict(self, verdict: Verdict, standing: Sequence[str]) -> list[Finding]:
        """Keep the result of a judgement and return what is new, with suggestions.

        `standing` are the problems present now.
        """
        new = [self.finding(finding) for finding in verdict.new]
        for finding, cause in verdict.explained:
            self.consequence(finding, cause)
        for name in verdict.gone:
            self.event("gone", f"{name} is gone")
        if new and len(found := together(self.findings, standing, self._history.step)) > 1:
            names = ", ".join(each.problem for each in found)
            first = by_priority(one for each in found for one in each.suggestions)[:1]
            try_first = "".join(f"; try first: {each.words}" for each in first if each.kind)
            self.event("combined", f"{len(found)} at once: {names}{try_first}")
        return new

    def finding(self, finding: Finding) -> Finding:
        """Keep a finding and do with it what the user asked for; return it with suggestions."""
        finding = self.guard.run("advice", self._adviser.advise, finding) or finding
        self.findings.append(finding)
        if self._chart is not None:
            self.guard.run("chart", self._chart.finding, finding)
        self._add(Event(kind="finding", step=finding.step, epoch=finding.epoch, text=str(finding)))
        treated = self._planned(finding)
        if self._on_finding == "stop" and finding.severity != "info":
            self.to_raise.append(finding)
        else:
            self._announce(finding, treated)
        return finding

    def health(self, standing: Sequence[str]) -> Health:
        """Return how the run is doing; `standing` are the problems present now."""
        return assess(self._history, together(self.findings, standing, self._history.step))

    def report(self, standing: Sequence[str]) -> None:
        """Keep and print how the run is doing, if a report is due after this validation."""
        if not self._report_every or "val_loss" not in self._history.measured:
            return
        if len(self._history.epochs("val_loss")) % self._report_every:
            return
        health = self.health(standing)
        self.reports.append(health)
        if self._chart is not None:
            self.guard.run("chart", self._chart.report, health)
        if self._on_finding in ("advise", "treat"):
            self._speak(terminal.print_report, health)

    def pop_to_raise(self) -> list[Finding]:
        """Return the findings to raise, once."""
        findings, self.to_raise = self.to_raise, []
        return findings

    def consequence(self, finding: Finding, cause: str) -> None:
        """Keep and print a problem that an earlier finding explains."""
        text = f"{finding}  (a consequence of {cause.replace('_', ' ')})"
        self._add(Event(kind="consequence", step=finding.step, epoch=finding.epoch, text=text))
        self._planned(finding, cause)
        if self._on_finding in ("advise", "treat"):
            self._speak(terminal.print_notice, text)

    def treatment(self, text: str, say: bool = True) -> None:
        """Keep and print what was done to the loop."""
        self.event("treatment", text)
        if say:
            step = max(self._history.step, 0)
            self._speak(terminal.print_treatment, f"step {step}  {text}")

    def event(self, kind: EventKind, text: str) -> None:
        """Keep something that happened."""
        step = max(self._history.step, 0)
        self._add(Event(kind=kind, step=step, epoch=self._history.epoch, text=text))

    def notice(self, text: str) -> None:
        """Print something about the watching itself, once."""
        if text not in self._said:
            self._said.add(text)
            self.event("notice", text)
            if self._on_finding != "silent":
                self._speak(terminal.print_notice, text)

    def trouble(self, part: str, error: Exception) -> None:
        """Report that a part of sickbay failed and is switched off. Called by the guard."""
        text = f"{part} failed and is switched off ({error_summary(error)})."
        self.event("trouble", text)
        self._speak(terminal.print_notice, text)

    def close(self) -> None:
        """Announce what was to be raised but came too late, and finish the chart."""
        for finding in self.pop_to_raise():
            self._announce(finding, treated=False)
        if self._chart is not None:
            self.guard.run("end of the chart", self._chart.close)
            self._chart = None

    def _planned(self, finding: Finding, cause: str = "") -> bool:
        """Ask for treatment, if any; return whether there will be one."""
        plan = self.plan
        return plan is not None and bool(self.guard.run("treatment", plan, finding, cause))

    def _announce(self, finding: Finding, treated: bool) -> None:
        if callable(self._on_finding):
            self.guard.run("on_finding", self._on_finding, finding)
        elif self._on_finding != "silent":  # an info does not stop a loop
            told = () if treated else finding.suggestions
            self._speak(lambda: terminal.print_finding(finding, terminal.advice(told)))

    def _speak(self, say: Callable[..., None], *what: object) -> None:
        """Print something. Of several processes only the first does, since all see the same."""
        self.guard.run("printing", lambda: say(*what) if is_first() else None)

    def _add(self, event: Event) -> None:
        self.events.append(event)
        if self._chart is not None:
            self.guard.run("chart", self._chart.event, event)
