"""Diagnoses and learning curves as JSON values, as trials store them in their attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.tuning.judge import End

CURVE = "sickbay:course"  # the attribute that holds the learning curve
MAX_LAYERS = 20  # named in a diagnosis; the chart has them all


def describe_end(end: End) -> dict[str, Any]:
    """Return why a trial has ended, as JSON. Evidence that is not finite is left out.

    >>> from sickbay.findings import Finding
    >>> finding = Finding(problem="plateau", step=7, evidence={"now": 2.0, "was": float("nan")})
    >>> describe_end(End(finding, benign=False))["evidence"]
    {'now': 2.0}
    """
    finding = end.finding
    evidence = {name: float(value) for name, value in finding.evidence.items() if isfinite(value)}
    return {
        "problem": finding.problem,
        "message": finding.message,
        "epoch": finding.epoch,
        "step": finding.step,
        "layers": list(finding.layers[:MAX_LAYERS]),
        "benign": end.benign,
        "evidence": evidence,
    }


def to_json_numbers(values: Sequence[float]) -> list[float | None]:
    """Round numbers to six digits, and replace those that are not finite by None.

    >>> to_json_numbers([2 / 3, float("nan")])
    [0.666667, None]
    """
    return [float(f"{value:.6g}") if isfinite(value) else None for value in values]


@dataclass(frozen=True)
class StoredCurve:
    """A learning curve as stored: numbers that were not finite are None."""

    losses: tuple[float | None, ...]
    values: tuple[float | None, ...]
    first: float | None = None
    steps: int | None = None

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> StoredCurve:
        """Read the curve from a trial's attributes. Raise `UsageError` if it is malformed.

        >>> StoredCurve.of({CURVE: {"losses": [0.5], "values": [0.9, None]}}).numbers()
        ([0.5], [0.9, nan])
        """
        return dataclass_from_json(cls, json_object(CURVE, attributes.get(CURVE)))

    def numbers(self) -> tuple[list[float], list[float]]:
        """Return the losses and values by epoch, with NaN for None."""
        losses, values = (
            [nan if each is None else each for each in numbers]
            for numbers in (self.losses, self.values)
        )
        return losses, values
