"""Findings (a problem was seen), suggestions (what to do) and events (something happened)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Severity = Literal["info", "warning", "critical"]
EventKind = Literal[
    "finding", "consequence", "gone", "combined", "treatment", "skipped_step", "trouble", "notice"
]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
# Of a published suggestion, in the published order of priority.
SuggestionKind = Literal["gradient_control", "regularisation", "architecture"]
SUGGESTION_KINDS: tuple[SuggestionKind, ...] = get_args(SuggestionKind)


@dataclass(frozen=True)
class Odds:
    """How often something worked.

    >>> print(Odds(46, 49)), print(Odds(0, 0))
    worked in 46 of 49 such cases
    not tried yet
    (None, None)
    >>> round(Odds(46, 49).mean, 3), Odds(0, 0).mean
    (0.922, 0.5)
    """

    worked: int = 0
    tried: int = 0

    @property
    def mean(self) -> float:
        """The expected success rate: the mean of a Beta distribution with a flat prior."""
        return (self.worked + 1) / (self.tried + 2)

    def __add__(self, other: "Odds") -> "Odds":
        return Odds(self.worked + other.worked, self.tried + other.tried)

    def __str__(self) -> str:
        if not self.tried:
            return "not tried yet"
        return f"worked in {self.worked} of {self.tried} such cases"


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Something to try against a problem.

    Attributes:
        words: What to do.
        code: The same as code, "" if there is none.
        remedy: The remedy of sickbay that does it, by its key, "" if there is none.
        confidence: The confidence that a paper states, None if it states none.
        odds: How often it has worked, as measured; None if there is nothing to measure.
        kind: Its place in the published order of priority, None if it is not published.

    >>> print(Suggestion(words="halve the learning rate", confidence=0.9, odds=Odds(3, 4)))
    halve the learning rate  (stated confidence 0.9; worked in 3 of 4 such cases)
    """

    words: str
    code: str = ""
    remedy: str = ""
    confidence: float | None = None
    odds: Odds | None = None
    kind: SuggestionKind | None = None

    def __str__(self) -> str:
        stated = "" if self.confidence is None else f"stated confidence {self.confidence:g}"
        notes = "; ".join(filter(None, (stated, str(self.odds or ""))))
        return f"{self.words}  ({notes})" if notes else self.words

    @property
    def priority(self) -> tuple[int, float]:
        """Its rank among others: by kind, then by stated confidence. The lowest comes first."""
        kinds: tuple[SuggestionKind | None, ...] = (*SUGGESTION_KINDS, None)
        return kinds.index(self.kind), -(self.confidence or 0.0)


def by_priority(suggestions: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
    """Sort suggestions by priority, and leave out repetitions. Equal ones keep their order.

    >>> drop = Suggestion(words="drop more", kind="regularisation", confidence=0.8)
    >>> clip = Suggestion(words="clip", kind="gradient_control", confidence=0.8)
    >>> [each.words for each in by_priority([drop, clip, drop])]
    ['clip', 'drop more']
    """
    return tuple(sorted(dict.fromkeys(suggestions), key=lambda each: each.priority))


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
        suggestions: What to try, best first. The doctor adds to those of the problem.

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
    suggestions: tuple[Suggestion, ...] = ()

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
    finding explains), `gone` (a problem went away), `combined` (several problems were found within
    the same window of steps), `treatment` (a remedy was applied to the loop), `skipped_step` (a
    gradient scaler dropped the step), `trouble` (a part of sickbay failed and was switched off),
    `notice`.
    """

    kind: EventKind
    step: int
    epoch: int = 0
    text: str = ""
