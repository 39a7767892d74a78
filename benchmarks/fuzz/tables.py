"""Results of all inputs as tables and as a page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from benchmarks.fuzz.verdict import Happened, Verdict
from benchmarks.report_page import Sheet, page_head

LONG = 110
MEANING: Mapping[str, str] = {
    "returned": "the call returned",
    "refused": "one clear `SickbayError`",
    "signature": "Python's own `TypeError` for a call that does not fit the signature",
    "mine": "an exception raised by the user's own object, passed on to the user",
    "exit": "the command-line parser ended with exit code 0 or 2",
    "failure": "an unexpected exception, a hang, a crash, or memory without limit",
}
QUESTION = "What sickbay does with damaged files, wrong command lines and wrong arguments."
PAGE = """\
There are three kinds of inputs:

- **files**: damaged charts (of schema 1 and 2), searches, pools, Optuna journals and folders of
  resumed repairs. Bytes and JSON are changed, and files are replaced by pipes, links and devices.
- **commands**: command lines with something wrong in them.
- **calls**: calls of documented functions with wrong arguments: `None`, NaN, huge numbers, odd
  tensors, models and optimizers, and objects that raise on any access. Calls of plain records
  (readings, findings, histories) are not tried.

Each input must end with a result or with one `SickbayError`, and printed text must leave the
terminal intact. No exception may reach the user's loop. Each input has limits of time and memory.
An input that crashes its process counts as a failure.

`--input N` runs one input of a seed again, alone, and prints its traceback.
"""


def counts(done: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Count the outcomes by kind of input."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for each in done:
        found[kind_of(each)][each.happened] += 1
    return {kind: dict(found[kind]) for kind in sorted(found)}


def kind_of(verdict: Verdict) -> str:
    return verdict.what.partition(" | ")[0] or "crashed"


def failures(done: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return the distinct failures, most frequent first, each with one input."""
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for each in done:
        if each.happened == "failure":
            groups[each.error, each.place].append(each)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "error": error,
            "place": place,
            "count": len(group),
            "input": (first := min(group, key=lambda each: each.number)).number,
            "what": first.what,
            "said": first.said,
        }
        for (error, place), group in ordered
    ]


def sheets(done: Sequence[Verdict]) -> list[Sheet]:
    found = counts(done)
    names = [name for name in get_args(Happened) if any(name in each for each in found.values())]
    rows = [[kind, *(f"{each.get(name, 0):,}" for name in names)] for kind, each in found.items()]
    note = "; ".join(f"{name}: {MEANING[name]}" for name in names) + "."
    made = [Sheet("Outcomes", note, ("input", *names), rows)]
    failed = [
        [each["place"] or "-", each["error"], f"{each['count']:,}", str(each["input"]), brief(each)]
        for each in failures(done)
    ]
    if failed:
        columns = ("innermost line", "error", "count", "input", "input and message")
        made.append(Sheet("Failures", "`--input N` shows one in full.", columns, failed))
    return made


def brief(failure: Mapping[str, Any]) -> str:
    text = f"{failure['what'][-LONG:]}: {failure['said'][:LONG]}".replace("|", "/")
    return text.encode("ascii", "backslashreplace").decode()


def outcomes(sheet: Sheet) -> list[str]:
    """Return a line for each kind of input.

    >>> outcomes(Sheet("", "", ("input", "returned", "exit"), [["files", "1,200", "0"]]))
    ['Files: 1,200 returned.']
    """
    lines = []
    for kind, *numbers in sheet.rows:
        some = [
            f"{number} {name}"
            for name, number in zip(sheet.columns[1:], numbers, strict=True)
            if number != "0"
        ]
        lines.append(f"{kind.capitalize()}: {', '.join(some)}.")
    return lines


def page(sheets: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """Return the tables as a page."""
    made = ", ".join(f"{name} {version}" for name, version in about["made"].items())
    minutes = max(1, about["seconds"] / 60)
    result = f"{about['inputs']:,} inputs of seed {about['seed']} in {minutes:.0f} minutes"
    summary = [f"{result}: {about['failures']:,} failures.", *outcomes(sheets[0])]
    head = page_head("Invalid input", QUESTION, f"`{about['command']}` ({made})", summary)
    return "\n".join([head, PAGE, *(sheet.markdown() for sheet in sheets)])
