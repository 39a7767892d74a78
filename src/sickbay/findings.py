"""Findings (a problem was seen) and events (something happened)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Severity = Literal["info", "warning", "critical"]
EventKind = Literal[
    "finding", "consequence", "gone", "combined", "treatment", "skipped_step", "trouble", "notice"
]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One problem, found at one step, with the numbers that show it.

    Attributes:
        problem: Its name, in snake case.
        severity: How bad it is.
        step: The step of the evidence, counted from 0.
        epoch: The epoch of the evidence, counted from 0.
        layers: The layers concerned, in forward order, named as in `named_modules`.
        message: What was found, with its numbers and limits.
        evidence: The numbers by name.
        consequences: Other problems seen at the same time that this one explains.

    >>> print(Finding(problem="non_finite", step=7, layers=("encoder.0",), message="it is NaN"))
    step 7  non finite  encoder.0  it is NaN
    """

    problem: str
    severity: Severity = "warning"
    step: int
    epoch: int = 0
    layers: tuple[str, ...] = ()
    message: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    consequences: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The problem's name as words."""
        return self.problem.replace("_", " ")

    @property
    def where(self) -> str:
        """The first layer and the number of others."""
        if not self.layers:
            return ""
        more = len(self.layers) - 1
        return (self.layers[0] or "(model)") + (f" +{more}" if more else "")

    @property
    def aftermath(self) -> str:
        """The consequences as words."""
        names = ", ".join(name.replace("_", " ") for name in self.consequences)
        return f"(explains {names})" if names else ""

    def __str__(self) -> str:
        parts = (f"step {self.step}", self.title, self.where, self.message, self.aftermath)
        return "  ".join(part for part in parts if part)


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to the run or to sickbay itself.

    `kind` is one of: `finding` (a problem began), `consequence` (a problem began that an earlier
    finding explains), `gone` (a problem went away), `combined` (several problems are present at
    once), `treatment` (a remedy was applied to the loop), `skipped_step` (a gradient scaler dropped
    the step), `trouble` (a part of sickbay failed and was switched off), `notice`.
    """

    kind: EventKind
    step: int
    epoch: int = 0
    text: str = ""
