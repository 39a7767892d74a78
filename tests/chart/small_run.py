"""A small run with everything in it, and how histories are compared."""

from dataclasses import replace
from math import inf, nan
from types import MappingProxyType
from typing import Any

import numpy as np

from sickbay.chart import ChartWriter
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.vitals import KINDS, STATISTICS, Setup, Table, Vitals

LAYERS = MappingProxyType({"b": "Linear", "a": "ReLU"})
SETUP = Setup(layers=LAYERS, shapes={"b.weight": (3, 2)}, epochs=4)
EVIDENCE = {"now": nan, "limit": -inf, "usual": 0.1}
FINDING = Finding(
    problem="dead", severity="info", step=2, epoch=1, layers=("b",), message="ü", evidence=EVIDENCE
)
EVENT = Event(kind="gone", step=3, epoch=1, text='"quoted"\n\u2028 \ud800')


def table(step: int, *names: str) -> Table:
    values = np.random.default_rng(step).normal(size=(len(names), len(STATISTICS)))
    values[:, step] = [nan, inf][: len(names)]
    return Table(KINDS[step % len(KINDS)], step, names, values)


READINGS = [
    Vitals(step=0, time=1.5, scalars={"loss": 2.3, "step": 7.0}, tables=[table(0, "a", "b")]),
    Vitals(step=1, scalars={"loss": nan}),
    Vitals(step=1, epoch=1, scalars={"loss": -inf}, tables=[table(1, "b"), table(4, "a", "b")]),
    Vitals(step=5, epoch=1, scalars={"loss": inf, "lr": 5e-324}, tables=[table(5, "a", "ü")]),
    Vitals(step=6, epoch=1, tables=[table(2)]),
]


def write(writer: ChartWriter) -> History:
    """Write a small run with everything in it; return the history it should become."""
    history = History(replace(SETUP, optimizer="Adam"), window=99, tables=99)
    for reading in READINGS:
        writer.append(reading)
        history.append(reading)
        if reading.step == 1:
            writer.end_epoch(reading.epoch, {"val_loss": nan, "score": 0.5})
            history.end_epoch(val_loss=nan, score=0.5)
    writer.finding(FINDING)
    writer.setup(history.setup)
    writer.event(EVENT)
    return history


def series(history: History) -> list[list[str]]:
    """Every list that a history holds, as text, in which NaN equals NaN."""
    lists: list[list[Any]] = []
    for name in ("loss", "lr", "step", "val_loss", "score"):
        lists += history.timed(name, 99), history.epochs(name)
    for kind in KINDS:
        tables = history.tables(kind, 99)
        lists += [[(each.step, each.names, each.values.astype("f4").tolist()) for each in tables]]
    return [list(map(repr, each)) for each in lists]


def begins(short: History, long: list[list[str]]) -> bool:
    return all(few == many[: len(few)] for few, many in zip(series(short), long, strict=True))


def count(history: History) -> int:
    return sum(len(history.tables(kind, 10**9)) for kind in KINDS)
