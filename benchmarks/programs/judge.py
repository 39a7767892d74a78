"""What a record of a program shows: faults named, fixes accused, repairs that hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.programs.program import Fault

Record = dict[str, Any]
NEAR = 0.05  # of the fix's score
CLEARLY = {False: 0.05, True: 0.03}  # how far a fix must beat a fault, strong or mild
ORDER = ("right", "symptom", "wrong")


def faults(record: Record) -> list[Fault]:
    """Return the faults of the program of a record."""
    return [
        Fault(each["kind"], tuple(each["names"]), tuple(each["also"]), each["mild"])
        for each in record["faults"]
    ]


def judge(record: Record, names: Sequence[str]) -> str:
    """Return the best that one finding, which may mean several problems, is for any fault."""
    verdicts = {fault.judge(name) for fault in faults(record) for name in names}
    return next(each for each in ORDER if each in verdicts)


def said(record: Record, tool: str = "", form: str = "sick") -> list[list[str]]:
    """Return the findings of a tool in their order. A warning of ours comes before an info."""
    if tool:
        return list(record["rivals"][tool][form])
    findings = record[form]["findings"]
    serious = [each for each in findings if each["severity"] != "info"]
    rest = [each for each in findings if each["severity"] == "info"]
    return [[name] for name in dict.fromkeys(each["problem"] for each in serious + rest)]


def without_infos(record: Record) -> Record:
    """Return a record of which only warnings and worse findings are left."""
    left = dict(record)
    for form in ("sick", "fixed"):
        findings = [each for each in record[form]["findings"] if each["severity"] != "info"]
        left[form] = {**record[form], "findings": findings}
    return left


def named(record: Record, tool: str = "") -> list[bool]:
    """Return for each fault whether any finding names it."""
    told = {name for names in said(record, tool) for name in names}
    return [bool(told & set(fault.names)) for fault in faults(record)]


def first(record: Record, tool: str = "") -> str:
    """Return whether the first finding is right, a symptom or wrong, or "-" if there is none."""
    told = said(record, tool)
    return judge(record, told[0]) if told else "-"


def accusations(record: Record, tool: str = "") -> list[str]:
    """Return the problems that a tool warns about in the fixed program."""
    if tool:
        return [" or ".join(names) for names in record["rivals"][tool]["fixed"]]
    findings = record["fixed"]["findings"]
    return list(dict.fromkeys(each["problem"] for each in findings if each["severity"] != "info"))


def is_repaired(record: Record) -> bool:
    """Return whether a repair comes within 5 points of the fix."""
    score = record["repair"]["score"]
    return score is not None and score >= record["fixed"]["score"] - NEAR


def is_falsely_solved(record: Record) -> bool:
    """Return whether a repair says `solved` at the constant answer, or far below the fix."""
    repair = record["repair"]
    if not repair["solved"]:
        return False
    score = -1.0 if repair["score"] is None else repair["score"]
    return score <= record["constant"] or not is_repaired(record)


def is_clear(scores: Record) -> bool:
    """Return whether the fix clearly beats the fault for every seed.

    >>> is_clear({"sick": [0.5, 0.6], "fixed": [0.9, 0.9], "mild": False})
    True
    >>> is_clear({"sick": [0.5, 0.88], "fixed": [0.9, 0.9], "mild": True})
    False
    """
    pairs = zip(scores["sick"], scores["fixed"], strict=True)
    margin = CLEARLY[scores["mild"]]
    return all(good is not None and (bad is None or good > bad + margin) for bad, good in pairs)
