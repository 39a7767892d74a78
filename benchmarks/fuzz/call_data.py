"""Calls of what holds readings: histories, tables, findings, charts."""

from __future__ import annotations

from typing import Any

import numpy as np

import sickbay
from benchmarks.fuzz import bases
from benchmarks.fuzz.call_rules import history
from benchmarks.fuzz.calls import Call, Make
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.damage import write
from sickbay.chart import Chart, ChartWriter
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.readings import STATISTICS, Setup, Table, Vitals


def asked(case: Case) -> Call:
    """Ask a history."""
    made = history(case.random)
    methods: dict[str, tuple[Any, ...]] = {
        "append": (Vitals(1, 0, 0.0, {"loss": 1.0}),),
        "recent": ("loss", 3),
        "timed": ("loss", 3),
        "latest": ("loss",),
        "first": ("loss", 2),
        "best": ("loss",),
        "epochs": ("loss",),
        "table": ("gradient",),
        "tables": ("gradient", 2),
        "batch": ("input",),
        "kernels": (bases.table(0),),
        "of_kinds": (bases.table(0, "activation"), ("ReLU",)),
    }
    name = case.random.choice(list(methods))
    return Call(f"History.{name}", getattr(made, name), methods[name])


def begun(_: Case) -> Call:
    kwargs = {"setup": None, "window": 4, "tables": 2, "loss": [1.0, 2.0]}
    return Call("History", History, (), kwargs, lambda made: repr(made))


def ended(case: Case) -> Call:
    made = history(case.random)
    return Call("History.end_epoch", made.end_epoch, (), {"val_loss": 1.0, "accuracy": 0.5})


def table_of(_: Case) -> Call:
    return Call("Table.of", Table.of, ("gradient", 0, {"0.weight": {"norm": 1.0}}), {}, read)


def table(_: Case) -> Call:
    values = np.ones((2, len(STATISTICS)))
    return Call("Table", Table, ("gradient", 0, bases.NAMES, values), {}, read)


def read(made: Table) -> None:
    made.column("norm"), made.row(made.names[0]), made.is_finite, made.layers


def of_table(case: Case) -> Call:
    made = bases.table(0)
    name, given = case.random.choice((("column", "norm"), ("row", "0.weight"), ("layer", "0.x")))
    return Call(f"Table.{name}", getattr(made, name), (given,))


def appended(case: Case) -> Call:
    """Append odd readings to a history and a chart."""
    writer = ChartWriter(case.home / "c", bases.SETUP)

    def both(**given: Any) -> None:
        vitals = Vitals(**given)
        history(case.random).append(vitals)
        writer.append(vitals)
        writer.close()
        Chart.open(case.home / "c").history()

    kwargs = {"step": 1, "epoch": 0, "time": 0.0, "scalars": {"x": 1.0}, "tables": [bases.table(1)]}
    return Call("Vitals", both, (), kwargs)


def found(_: Case) -> Call:
    """Make a finding, show it and write it down."""
    kwargs: dict[str, Any] = {"problem": "non_finite", "severity": "warning", "step": 1}
    kwargs |= {"epoch": 0, "layers": ("0",), "message": "m", "evidence": {"a": 1.0}}

    def use(made: Finding) -> None:
        str(made), made.title, made.where

    return Call("Finding", Finding, (), {**kwargs, "consequences": ()}, use)


def happened(_: Case) -> Call:
    kwargs = {"kind": "notice", "step": 1, "text": "t"}
    return Call("Event", Event, (), kwargs, lambda made: str(made))


def setup(_: Case) -> Call:
    return Call("Setup.of", Setup.of, (vars(bases.SETUP),), {}, lambda made: repr(made))


def opened(case: Case) -> Call:
    write(dict(bases.chart()), case.home / "c")
    return Call("Chart.open", Chart.open, (str(case.home / "c"),), {}, lambda made: made.setup)


def of_chart(case: Case) -> Call:
    write(dict(bases.chart()), case.home / "c")
    chart = sickbay.Chart.open(case.home / "c")
    if case.random.random() < 0.5:
        return Call("Chart.history", chart.history, (), {"window": 4})
    kwargs = {"window": 4, "tables": 2}
    return Call("Chart.replay", chart.replay, (), kwargs, lambda made: list(made))


TARGETS: dict[Make, float] = {
    asked: 5,
    begun: 2,
    ended: 2,
    table_of: 1,
    table: 1,
    of_table: 1,
    appended: 2,
    found: 1,
    happened: 1,
    setup: 1,
    opened: 3,
    of_chart: 3,
}
