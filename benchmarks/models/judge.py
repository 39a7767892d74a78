"""What a record shows: false failures on a sound model, or a fault found by the right test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.models.reasons import why_right

Record = dict[str, Any]
RAISED = "it raised "  # how a checkup begins the message of a test that crashed


def sound(records: Iterable[Record]) -> list[Record]:
    return [each for each in records if each["fault"] is None]


def faulty(records: Iterable[Record]) -> list[Record]:
    return [each for each in records if each["fault"] is not None]


def failed(record: Record) -> list[Record]:
    """Return the results that failed. A checkup that raises is a critical failure."""
    if record["raised"]:
        about = {"outcome": "failed", "severity": "critical", "message": record["raised"]}
        return [{"test": "checkup", **about}]
    return [each for each in record["results"] if each["outcome"] == "failed"]


def right_failures(record: Record) -> list[tuple[Record, str]]:
    """Return the failures on a sound model that are right, each with why."""
    reasons = [(each, reason(record, each)) for each in failed(record)]
    return [(each, why) for each, why in reasons if why]


def false_failures(record: Record) -> list[Record]:
    """Return the failures on a sound model that have no reason."""
    return [each for each in failed(record) if not reason(record, each)]


def reason(record: Record, failure: Record) -> str:
    """Return why a failure on a sound model is right, "" if it is not."""
    return why_right(record["name"], failure["test"], failure["message"])


def crashed(record: Record) -> list[Record]:
    """Return the tests that raised an exception of their own, which shows nothing of the model."""
    skipped = [each for each in record["results"] if each["outcome"] == "skipped"]
    return [each for each in skipped if each["message"].startswith(RAISED)]


def is_accused(record: Record) -> bool:
    """Return whether any failure on a sound model is false."""
    return bool(false_failures(record))


def is_accused_gravely(record: Record) -> bool:
    """Return whether a false failure is critical."""
    return any(each["severity"] == "critical" for each in false_failures(record))


def is_found(record: Record) -> bool:
    """Return whether a test that is meant for the fault failed."""
    return bool({each["test"] for each in failed(record)} & set(record["fault"]["finds"]))
