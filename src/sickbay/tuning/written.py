"""Findings and courses as plain values, for frameworks that keep or send them."""

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Any

from sickbay.fields import fit, mapping
from sickbay.tuning.judge import End

COURSE = "sickbay:course"  # the attribute of a trial with its losses and values
NUMBERS = tuple[float | None, ...]
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


def courses(attributes: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Return the losses and values by epoch that are written down; `UsageError` for nonsense.

    >>> courses({COURSE: {"losses": [0.5, None], "values": [0.9]}})
    ([0.5, nan], [0.9])
    """
    course = mapping(COURSE, attributes.get(COURSE))
    losses, values = (
        [nan if each is None else each for each in fit(name, NUMBERS, course.get(name))]
        for name in ("losses", "values")
    )
    return losses, values
