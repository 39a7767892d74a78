"""Hand-computed cases of AutoTrainer's rules, written from the paper's formulas alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Case = Mapping[str, Any]
CASES: Mapping[str, list[Case]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
# Where the paper can be read in several ways, these hold here.
READINGS = {
    "vg-alpha-too-early": "not yet",
    "vg-all-zero": "literal",
    "eg-last-zero": "undefined",
    "dr-biases": "counted",
    "ol-30-per-cent": "reached",
    "ol-curve": "accuracy",
    "sc-guard": "summary",
    "sc-change": "signed",
    "sc-30-per-cent": "reached",
    "s5-start": "set",
    "s5-larger-start": "doubled",
    "s5-cap": "held",
    "s6-same": "skipped",
    "s6-upwards": "set",
    "s2-exploding": "list",
}


def chosen(part: str) -> list[Case]:
    """Return the cases of a part, without the readings that do not hold here."""
    return [case for case in CASES[part] if holds(case)]


def holds(case: Case) -> bool:
    """Return whether a case is no alternative reading, or the one that holds here."""
    if "reading" not in case:
        return True
    what, _, reading = case["reading"].partition(": ")
    return bool(READINGS[what] == reading)
