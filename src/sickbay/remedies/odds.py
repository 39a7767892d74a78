"""How often a remedy has cured a problem: in the shipped benchmark, and in the user's repairs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sickbay import safe_files
from sickbay.errors import UsageError
from sickbay.findings import Odds as Odds
from sickbay.problems.by_name import RENAMED
from sickbay.remedies.base import Remedy

SHIPPED = Path(__file__).with_name("odds.json")
LARGEST = 10_000_000  # bytes of the user's file
RETRAINING = 0.03  # how much less a remedy that discards the weights is worth, in odds
AGAIN = 2  # successes of this user that prove a remedy which has never worked in the benchmark
SPECIFIC = 0.9  # the odds of a specific remedy before it is tried

Counts = dict[str, dict[str, list[int]]]  # by problem, by remedy: worked, tried


def local_file() -> Path:
    """Return the file with the counts of the user's own repairs."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(os.environ.get("SICKBAY_HOME") or Path(base) / "sickbay") / "odds.json"


@cache
def shipped() -> Mapping[str, Any]:
    """Return the shipped counts, and how they were measured."""
    table: Mapping[str, Any] = json.loads(SHIPPED.read_text()) if SHIPPED.is_file() else {}
    return table


def odds(problem: str, remedy: Remedy) -> Odds:
    """Return how often a remedy has cured a problem, for this user and in the benchmark."""
    return _of(shipped().get("counts", {}), problem, remedy) + _of(_local(), problem, remedy)


def is_proven(problem: str, remedy: Remedy) -> bool:
    """Return whether a remedy may be advised: a single success of this user may be chance."""
    measured = _of(shipped().get("counts", {}), problem, remedy)
    return measured.worked > 0 or _of(_local(), problem, remedy).worked >= AGAIN


def note(problem: str, remedy: Remedy, worked: bool) -> None:
    """Count a repair of this user."""
    counts, file = _local(), local_file()
    pair = counts.setdefault(problem, {}).setdefault(remedy.key, [0, 0])
    pair[0] += worked
    pair[1] += 1
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        safe_files.write_atomically(
            file, (json.dumps(counts, indent=1, sort_keys=True) + "\n").encode()
        )
    except OSError:  # a home folder that is read-only must not stop a repair
        return


def ranked(problem: str, remedies: Sequence[Remedy]) -> list[Remedy]:
    """Sort remedies by their worth. Equal ones keep their order."""
    return sorted(remedies, key=lambda each: -worth(problem, each))


def worth(problem: str, remedy: Remedy) -> float:
    """Return the expected success rate, a little less if the weights are lost.

    A remedy for what the recipe shows to be wrong is expected to work until it has been tried.
    """
    counted = odds(problem, remedy)
    expected = SPECIFIC if remedy.specific and not counted.tried else counted.mean
    return expected - (0.0 if remedy.keeps_weights else RETRAINING)


def _of(counts: Mapping[str, Any], problem: str, remedy: Remedy) -> Odds:
    return Odds(*counts.get(problem, {}).get(remedy.key, (0, 0)))


def _local() -> Counts:
    """Return the counts of this user. Skip anything in the file that is not a count."""
    try:
        kept = safe_files.parse_json(safe_files.read_file(local_file(), LARGEST), local_file())
    except UsageError:
        return {}
    return {
        RENAMED.get(str(problem), str(problem)): {
            name: pair for name, pair in found.items() if _is_pair(pair)
        }
        for problem, found in (kept.items() if isinstance(kept, dict) else ())
        if isinstance(found, dict)
    }


def _is_pair(value: object) -> bool:
    numbers = isinstance(value, list) and len(value) == 2 and all(type(n) is int for n in value)
    return numbers and 0 <= value[0] <= value[1]  # type: ignore[index]
