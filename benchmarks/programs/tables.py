"""Tables of the programs benchmark: totals, by kind of fault, and program by program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.programs import judge
from benchmarks.programs.judge import Record
from benchmarks.report_page import Sheet, key_figures, number, page_head, percent

LIMITS = (
    ("faults named", "at least", 0.9),
    ("first finding right", "at least", 0.8),
    ("fixed programs accused", "at most", 0.02),
    ("repaired to within 5 points of the fix", "at least", 0.85),
    ("solved, but not so", "at most", 0.0),
)
QUESTION = (
    "How sickbay does on complete training programs as people post them, with one to three faults "
    "at once: does it name the faults, leave the fixed programs alone, and repair the sick ones?"
)
PAGE = """\
Every program is a short script with a model, data and a loop, retold from reports in forums and
issues, and from published taxonomies of real faults. It is run sick and fixed, both watched with
`sickbay.watch` as it comes. A fault counts as named if a finding has one of the names that are
right for it; a symptom, such as `not_learning` for a specific fault, does not count. A fixed
program is accused if there is any warning. A finding of severity `info` can name a fault, and does
not accuse; a table tells how much of either that is.

Plain supervised programs are also trained with `sickbay.fit`. Where no change of its parts could
repair a program, as with wrong labels, no repair is expected. Scores are on held-out samples:
accuracy, R², or another share of which 1 is the best. `solved` is false if the score is not above
the constant answer, or more than 5 points below that of the fix.
"""


def sheets(records: Sequence[Record]) -> list[Sheet]:
    """Return all tables."""
    made = [must_hold(records), by_severity(records)]
    tools = dict.fromkeys(name for each in records for name in each.get("rivals", ()))
    if tools:
        made.append(by_tool(records, ["", *tools]))
    return [*made, by_fault(records), by_kind(records), by_program(records)]


def figures(records: Sequence[Record], tool: str = "") -> dict[str, tuple[int, int]]:
    """Return how many of how many, for every figure."""
    faults = [each for record in records for each in judge.named(record, tool)]
    counts = {
        "faults named": (sum(faults), len(faults)),
        "programs with a fault named": (
            sum(any(judge.named(each, tool)) for each in records), len(records),
        ),
        "first finding right": (
            sum(judge.first(each, tool) == "right" for each in records), len(records),
        ),
        "fixed programs accused": (
            sum(bool(judge.accusations(each, tool)) for each in records), len(records),
        ),
    }  # fmt: skip
    mended = [each for each in records if each["repair"] is not None]
    if mended and not tool:
        could = [each for each in mended if each["repairable"]]
        counts["repaired to within 5 points of the fix"] = (
            sum(map(judge.is_repaired, could)), len(could),
        )  # fmt: skip
        counts["solved, but not so"] = (sum(map(judge.is_falsely_solved, mended)), len(mended))
    return counts


def must_hold(records: Sequence[Record]) -> Sheet:
    values, rows = figures(records), []
    for name, how, limit in LIMITS:
        if name not in values or not values[name][1]:
            continue
        count, all_ = values[name]
        holds = count >= limit * all_ if how == "at least" else count <= limit * all_
        value = f"{count} of {all_} ({percent(count / all_)})"
        rows.append([name, value, f"{how} {percent(limit)}", "holds" if holds else "FAILS"])
    return Sheet("Limits", "", ("what", "value", "limit", ""), rows)


def by_severity(records: Sequence[Record]) -> Sheet:
    """Return what warnings do without findings of severity `info`."""
    columns = [[judge.without_infos(each) for each in records], records]
    named = [[hit for each in column for hit in judge.named(each)] for column in columns]
    told = [[bool(judge.said(each, form="fixed")) for each in column] for column in columns]
    rows = [
        [what, *(f"{sum(each)} of {len(each)}" for each in counts)]
        for what, counts in (("faults named", named), ("fixed programs with a finding", told))
    ]
    return Sheet("Warnings and infos", "", ("what", "by warnings", "by all findings"), rows)


def by_tool(records: Sequence[Record], tools: Sequence[str]) -> Sheet:
    names = ("faults named", "programs with a fault named", "first finding right",
             "fixed programs accused")  # fmt: skip
    rows = []
    for tool in tools:
        asked = [each for each in records if not tool or tool in each.get("rivals", ())]
        values = figures(asked, tool)
        rows.append(
            [tool or "sickbay", *(f"{values[name][0]} of {values[name][1]}" for name in names)]
        )
    note = "The same programs, watched by each tool as its documentation shows."
    return Sheet("Other tools", note, ("tool", *names), rows)


def by_fault(records: Sequence[Record]) -> Sheet:
    counts: dict[str, list[int]] = {}
    for record in records:
        for fault, hit in zip(judge.faults(record), judge.named(record), strict=True):
            pair = counts.setdefault(fault.kind, [0, 0])
            pair[0] += hit
            pair[1] += 1
    rows = [[kind, str(n), str(k)] for kind, (k, n) in sorted(counts.items())]
    return Sheet("By kind of fault", "", ("fault", "faults", "named"), rows)


def by_kind(records: Sequence[Record]) -> Sheet:
    rows = []
    for kind in sorted({each["kind"] for each in records}):
        some = [each for each in records if each["kind"] == kind]
        values = figures(some)
        row = [f"{k} of {n}" for k, n in values.values()]
        rows.append([kind, str(len(some)), *row, *["-"] * (6 - len(row))])
    columns = ("programs", "", "faults named", "programs named", "first right", "accused",
               "repaired", "solved, but not so")  # fmt: skip
    return Sheet("By kind of program", "", columns, rows)


def by_program(records: Sequence[Record]) -> Sheet:
    columns = ("program", "faults", "said", "named", "first", "fix accused of", "constant", "sick",
               "fixed", "repaired", "solved")  # fmt: skip
    return Sheet("Program by program", "", columns, [row(each) for each in records])


def row(record: Record) -> list[str]:
    """Return the cells of one program."""
    hits = judge.named(record)
    kinds = [f"{each.kind}{' (mild)' * each.mild}" for each in judge.faults(record)]
    repair = record["repair"] or {}
    solved = "-"
    if repair:
        solved = "yes" if repair["solved"] else "no"
        solved += " (wrong)" if judge.is_falsely_solved(record) else ""
    return [
        record["name"],
        "; ".join(kinds),
        ", ".join(names[0] for names in judge.said(record)) or "nothing",
        f"{sum(hits)} of {len(hits)}",
        judge.first(record),
        ", ".join(judge.accusations(record)) or "-",
        *(
            "-" if score is None else number(score)
            for score in (
                record["constant"], record["sick"]["score"], record["fixed"]["score"],
                repair.get("score"),
            )
        ),
        solved,
    ]  # fmt: skip


def page(made: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """Return the tables as a page."""
    names = [name for name, *_ in LIMITS]
    summary = key_figures(made[0], names[:4])
    source = f"`{about['command']}` ({about['made']})"
    head = page_head("Program results", QUESTION, source, summary)
    return "\n".join([head, PAGE, *(sheet.markdown() for sheet in made)])
