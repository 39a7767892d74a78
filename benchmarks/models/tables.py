"""Tables of the models benchmark: limits, failures on sound models, faults, and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.checkup.tables import brief
from benchmarks.models import judge
from benchmarks.models.judge import Record
from benchmarks.report_page import Sheet, key_figures, number, page_head, percent

LIMITS = (
    ("sound models with a false failure", "at most", 0.02),
    ("sound models with a false critical failure", "at most", 0.0),
    ("sound models on which a test crashed", "at most", 0.0),
    ("faults found by the right test", "at least", 0.88),
    ("models changed by the checkup", "at most", 0.0),
)
QUESTION = (
    "What a checkup says of the architectures of published libraries: does it leave the sound ones "
    "alone and as they were, and find faults planted in them?"
)
PAGE = """\
Each architecture is a small form of a published one, with random weights and with the batch and the
loss of its library's documentation. It is passed as a user would pass it, in a process of its own.
Any failure on it counts as false unless this page says why it is right. Which half an architecture
is in was drawn from its name. Limits of the tests were set on the calibration half. The faults were
planted by people who had not read the tests. A fault counts as found if a test fails that its
author said should find it. `python -m benchmarks.models --check` shows that all sound models
learn their batch, without a checkup.
"""


def sheets(records: Sequence[Record]) -> list[Sheet]:
    """Return all tables that have rows."""
    made = [
        must_hold(records),
        false_failures(records),
        right_failures(records),
        crashes(records),
        by_fault(judge.faulty(records)),
        by_library(records),
        costs(records),
        by_test(records),
        by_model(judge.sound(records)),
    ]
    return [each for each in made if each.rows]


def figures(records: Sequence[Record]) -> dict[str, tuple[int, int]]:
    """Return how many of how many, for every limit."""
    sound, faulty = judge.sound(records), judge.faulty(records)
    return {
        "sound models with a false failure": (sum(map(judge.is_accused, sound)), len(sound)),
        "sound models with a false critical failure": (
            sum(map(judge.is_accused_gravely, sound)), len(sound),
        ),
        "sound models on which a test crashed": (
            sum(bool(judge.crashed(each)) for each in sound), len(sound),
        ),
        "faults found by the right test": (sum(map(judge.is_found, faulty)), len(faulty)),
        "models changed by the checkup": (
            sum(bool(each["changed"]) for each in records), len(records),
        ),
    }  # fmt: skip


def must_hold(records: Sequence[Record]) -> Sheet:
    values, rows = figures(records), []
    for name, how, limit in LIMITS:
        count, all_ = values[name]
        if not all_:
            continue
        holds = count >= limit * all_ if how == "at least" else count <= limit * all_
        value = f"{count} of {all_} ({percent(count / all_)})"
        rows.append([name, value, f"{how} {percent(limit)}", "holds" if holds else "FAILS"])
    return Sheet("Limits", "", ("what", "value", "limit", ""), rows)


def false_failures(records: Sequence[Record]) -> Sheet:
    rows = [
        [each["name"], failure["test"], failure["severity"], brief(failure["message"])]
        for each in judge.sound(records)
        for failure in judge.false_failures(each)
    ]
    columns = ("architecture", "test", "severity", "message")
    return Sheet("False failures", "", columns, rows)


def right_failures(records: Sequence[Record]) -> Sheet:
    rows = [
        [each["name"], failure["test"], failure["severity"], brief(failure["message"]), why]
        for each in judge.sound(records)
        for failure, why in judge.right_failures(each)
    ]
    columns = ("architecture", "test", "severity", "message", "why it is right")
    return Sheet("Failures that are right", "", columns, rows)


def crashes(records: Sequence[Record]) -> Sheet:
    rows = [
        [each["name"], result["test"], brief(result["message"])]
        for each in judge.sound(records)
        for result in judge.crashed(each)
    ]
    columns = ("architecture", "test", "message")
    return Sheet("Tests that crashed on sound models", "", columns, rows)


def by_fault(faulty: Sequence[Record]) -> Sheet:
    rows = []
    for each in faulty:
        failed = {failure["test"]: failure["message"] for failure in judge.failed(each)}
        meant = [test for test in each["fault"]["finds"] if test in failed]
        others = [test for test in failed if test not in meant]
        found = ", ".join(meant) or "MISSED"
        said = brief(failed[meant[0]]) if meant else ""
        about = each["fault"]["about"]
        wanted = ", ".join(each["fault"]["finds"])
        rows.append([each["name"], about, wanted, found, said, ", ".join(others) or "-"])
    columns = ("fault", "what is wrong", "should be found by", "found by", "message", "also failed")
    return Sheet("Faults", "", columns, rows)


def by_library(records: Sequence[Record]) -> Sheet:
    rows = []
    for library in sorted({each["library"] for each in records}):
        some = [each for each in records if each["library"] == library]
        sound, faulty = judge.sound(some), judge.faulty(some)
        rows.append(
            [
                library,
                str(len(sound)),
                str(sum(map(judge.is_accused, sound))),
                str(sum(each["exit"] != 0 for each in sound)),
                str(len(faulty)),
                str(sum(map(judge.is_found, faulty))),
            ]
        )
    columns = ("library", "sound", "falsely accused", "exit code not 0", "faults", "found")
    note = "The exit code is that of `sickbay checkup`."
    return Sheet("By library", note, columns, rows)


def costs(records: Sequence[Record]) -> Sheet:
    rows = []
    for what, some in (("sound", judge.sound(records)), ("faulty", judge.faulty(records))):
        if not some:
            continue
        slowest = max(some, key=lambda each: float(each["seconds"]))
        known = [each for each in some if each["memory"] is not None]
        largest = max(known, key=lambda each: float(each["memory"]), default=None)
        rows.append(
            [
                what,
                number(median(each["seconds"] for each in some)),
                f"{number(slowest['seconds'])} ({slowest['name']})",
                number(median(each["memory"] for each in known)) if known else "-",
                f"{number(largest['memory'])} ({largest['name']}, weights "
                f"{number(largest['weights'])})" if largest else "-",
            ]
        )  # fmt: skip
    note = "Seconds on one thread. Memory: how far the peak is above what the process used before."
    columns = ("models", "seconds, median", "most", "megabytes, median", "most")
    return Sheet("Time and memory", note, columns, rows)


def by_test(records: Sequence[Record]) -> Sheet:
    """Return how often each test had which outcome on sound models, and its time."""
    sound = [result for each in judge.sound(records) for result in each["results"]]
    counts = Counter((each["test"], each["outcome"]) for each in sound)
    rows = []
    for test in dict.fromkeys(each["test"] for each in sound):
        seconds = [each["seconds"] for each in sound if each["test"] == test]
        outcomes = [str(counts[test, each]) for each in ("passed", "failed", "skipped")]
        rows.append([test, *outcomes, number(median(seconds)), number(max(seconds))])
    columns = ("test", "passed", "failed", "skipped", "seconds, median", "most")
    return Sheet("Test by test, on sound models", "", columns, rows)


def by_model(sound: Sequence[Record]) -> Sheet:
    rows = [
        [
            each["name"],
            ", ".join(failure["test"] for failure in judge.failed(each)) or "-",
            str(each["exit"]),
            ", ".join(each["changed"]) or "-",
            number(each["seconds"]),
            "-" if each["memory"] is None else number(each["memory"]),
            number(each["weights"]),
        ]
        for each in sound
    ]
    columns = ("architecture", "failed", "exit code", "changed", "seconds", "memory", "weights")
    return Sheet("Model by model", "Memory and weights in megabytes.", columns, rows)


def page(made: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """Return the tables as a page, with what was left out and what gave no result."""
    summary = key_figures(made[0], [name for name, *_ in LIMITS])
    summary += [f"Left out: {each}" for each in about["missing"]]
    summary += [f"No result: {brief(each)}" for each in about["failures"]]
    source = f"`{about['command']}` ({about['made']})"
    head = page_head("Model results", QUESTION, source, summary)
    return "\n".join([head, PAGE, *(sheet.markdown() for sheet in made)])
