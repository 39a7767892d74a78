"""Results of the checkup benchmark as tables and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.checkup.case import HALVES
from benchmarks.checkup.examine_model import Record
from benchmarks.report_page import Sheet, key_figures, page_head

FOUND, ALARMED, SECONDS = 0.95, 1, 10.0  # limits
LONG = 110  # characters of a message in a table

QUESTION = "How many planted faults a checkup finds, and how often a sound model fails a test."
PAGE = """\
Each fault is one change to a small sound model: a perceptron, a convolutional or recurrent network,
a transformer or an autoencoder. The model is passed with its data, as a user would pass it. A fault
counts as found if the test that is meant for it fails. The sound models are of other kinds, with
several tasks and several ways to pass a batch. Any failed test on a sound model is a false alarm.
The limits of the tests were set on the calibration half, which is another list of faults and sound
models. `--only NAME` prints all results of one model.
"""


def sheets(records: Sequence[Record], large: Record | None) -> list[Sheet]:
    """Return all tables, with both halves side by side if both were run."""
    halves = [half for half in HALVES if any(each["half"] == half for each in records)]
    made = [limits(records, halves, large)]
    made += [by_test(records, halves)] if faults(records) else []
    made += [misses(records), alarms(records)]
    made.append(times(records, large))
    made += [by_statement(large)] if large else []
    return [each for each in made if each.rows]


def faults(records: Iterable[Record], half: str = "") -> list[Record]:
    return [each for each in records if each["test"] and half in ("", each["half"])]


def sound(records: Iterable[Record], half: str = "") -> list[Record]:
    return [each for each in records if not each["test"] and half in ("", each["half"])]


def is_found(record: Record) -> bool:
    return bool(record["outcome"] == "failed")


def limits(records: Sequence[Record], halves: Sequence[str], large: Record | None) -> Sheet:
    rows = []
    for half in halves:
        planted, well = faults(records, half), sound(records, half)
        if planted:
            share = sum(map(is_found, planted)) / len(planted)
            what = f"faults found, {half} half"
            rows.append([what, f"{share:.1%}", f"at least {FOUND:.0%}", holds(share >= FOUND)])
        if well:
            alarmed = sum(bool(each["failed"]) for each in well)
            what = f"sound models with a failed test, {half} half"
            is_ = f"{alarmed} of {len(well)}"
            rows.append([what, is_, f"at most {ALARMED}", holds(alarmed <= ALARMED)])
    if large:
        what = f"char-GPT of {large['parameters'] / 1e6:.1f} million parameters"
        is_ = f"{large['seconds']:.1f} s"
        rows.append([what, is_, f"at most {SECONDS:g} s", holds(large["seconds"] <= SECONDS)])
    return Sheet("Limits", "", ("what", "value", "limit", ""), rows)


def holds(does: bool) -> str:
    return "holds" if does else "FAILS"


def by_test(records: Sequence[Record], halves: Sequence[str]) -> Sheet:
    """Return how many faults each test found, and how often it blamed a sound model."""
    columns = ["test"]
    for half in halves:
        columns += [f"planted, {half}", f"found, {half}"]
    tests = list(dict.fromkeys(each["test"] for each in faults(records)))
    rows = []
    for test in [*tests, ""]:
        row = [test.replace("_", " ") or "all"]
        for half in halves:
            some = [each for each in faults(records, half) if test in ("", each["test"])]
            row += [str(len(some)), str(sum(map(is_found, some)))]
        wrong = sum(
            test in each["failed"] if test else bool(each["failed"]) for each in sound(records)
        )
        rows.append([*row, str(wrong)])
    note = "Faults found by the test that is meant for them."
    return Sheet("Faults by test", note, (*columns, "failed by sound models"), rows)


def misses(records: Sequence[Record]) -> Sheet:
    rows = [
        [each["name"], each["half"], each["outcome"], brief(each["message"]), others(each)]
        for each in faults(records)
        if not is_found(each)
    ]
    columns = ("fault", "half", "outcome", "message of the test", "failed instead")
    return Sheet("Missed faults", "", columns, rows)


def others(record: Record) -> str:
    return ", ".join(test for test in record["failed"] if test != record["test"]) or "nothing"


def alarms(records: Sequence[Record]) -> Sheet:
    rows = [
        [each["name"], each["half"], test, brief(message)]
        for each in sound(records)
        for test, message in each["failed"].items()
    ]
    columns = ("sound model", "half", "test", "message")
    return Sheet("Sound models with a failed test", "", columns, rows)


def brief(message: str) -> str:
    """Shorten a message for a table.

    >>> brief("a | b")
    'a / b'
    """
    line = " ".join(message.split()).replace("|", "/")
    return line if len(line) <= LONG else line[: LONG - 3] + "..."


def times(records: Sequence[Record], large: Record | None) -> Sheet:
    rows = []
    for what, some in (("faults", faults(records)), ("sound models", sound(records))):
        if some:
            slowest = max(some, key=lambda each: float(each["seconds"]))
            seconds = median(each["seconds"] for each in some)
            most = f"{slowest['seconds']:.2f} ({slowest['name'].partition('/')[2]})"
            rows.append([what, f"{seconds:.2f}", most, *passes_of(some)])
    if large:
        one = f"{large['seconds']:.2f}"
        steps = f"{one} (of {large['seconds'] / large['step_seconds']:.0f} plain steps)"
        rows.append(["char-GPT", one, steps, *passes_of([large])])
    note = (
        "Seconds for a whole checkup, on one thread (the char-GPT on two). Calls: forward passes, "
        "not counting those of the test that trains the model (limit: 20 batches). "
        "Batches: the same passes, each weighted by its share of the values in the given batch."
    )
    columns = (
        "what",
        "seconds, median",
        "most",
        "calls, median",
        "most",
        "batches, median",
        "most",
    )
    return Sheet("Time", note, columns, rows)


def passes_of(records: Sequence[Record]) -> list[str]:
    calls = [each["calls"] for each in records if each["calls"]] or [0]
    batches = [each["batches"] for each in records if each["batches"]] or [0]
    return [
        f"{median(calls):g}", f"{max(calls):g}", f"{median(batches):.1f}", f"{max(batches):.1f}",
    ]  # fmt: skip


def by_statement(large: Record) -> Sheet:
    rows = [
        [each["test"].replace("_", " "), each["outcome"], f"{each['seconds']:.2f}"]
        for each in sorted(large["results"], key=lambda each: -float(each["seconds"]))
    ]
    return Sheet("The char-GPT, test by test", "", ("test", "outcome", "seconds"), rows)


def page(sheets: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """Return the tables as a page."""
    source = "`{command}` ({made}) on {part}: {faults} faults and {sound} sound models"
    figures = key_figures(sheets[0], [row[0] for row in sheets[0].rows])
    head = page_head("Checkup results", QUESTION, source.format(**about), figures)
    return "\n".join([head, PAGE, *(sheet.markdown() for sheet in sheets)])
