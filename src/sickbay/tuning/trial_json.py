"""Findings and courses as plain values, for frameworks that keep or send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.tuning.judge import End

COURSE = "sickbay:course"  # the attribute of a trial with its losses and values
LAYERS = 20  # that a diagnosis names; the chart has them all


def described(end: End) -> dict[str, Any]:
    """Return why a trial has ended, as JSON can hold it: what is not finite is left out.

    >>> from sickbay.findings import Finding
    >>> finding = Finding(problem="plateau", step=7, evidence={"now": 2.0, "was": float("nan")})
    >>> described(End(finding, benign=False))["evidence"]
    {'now': 2.0}
    """
    finding = end.finding
    evidence = {name: float(value) for name, value in finding.evidence.items() if isfinite(value)}
    return {
        "problem": finding.problem,
        "message": finding.message,
        "epoch": finding.epoch,
        "step": finding.step,
        "layers": list(finding.layers[:LAYERS]),
        "benign": end.benign,
        "evidence": evidence,
    }


def plain(values: Sequence[float]) -> list[float | None]:
    """Return numbers in six digits, None for what is not finite.

    >>> plain([2 / 3, float("nan")])
    [0.666667, None]
    """
    return [float(f"{value:.6g}") if isfinite(value) else None for value in values]


@dataclass(frozen=True)
class Written:
    """How a trial has gone, as it is written down: what is not finite is None."""

    losses: tuple[float | None, ...]
    values: tuple[float | None, ...]
    first: float | None = None
    steps: int | None = None

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Written:
        """Return what stands in the attributes of a trial; a `UsageError` if that is nonsense.

        >>> Written.of({COURSE: {"losses": [0.5], "values": [0.9, None]}}).numbers()
        ([0.5], [0.9, nan])
        """
        return dataclass_from_json(cls, json_object(COURSE, attributes.get(COURSE)))

    def numbers(self) -> tuple[list[float], list[float]]:
        """Return losses and values by epoch, NaN for what was not finite."""
        losses, values = (
            [nan if each is None else each for each in course]
            for course in (self.losses, self.values)
        )
        return losses, values
