"""What is reported: findings (a problem was seen) and events (something happened)."""

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
        message: What, how much, against what limit.
        evidence: The numbers, by name.
        consequences: Other problems that were seen and that this one explains.

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
        """The first layer, and how many more there are."""
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

    `kind` is one of: `finding` (a problem began), `consequence` (one that an earlier finding
    explains), `gone` (it went away), `combined` (several stand at once), `treatment`
    (something was done to the loop), `skipped_step` (a gradient scaler dropped the step), `trouble`
    (a part of sickbay failed and was switched off), `notice`.
    """

    kind: EventKind
    step: int
    epoch: int = 0
    text: str = ""
