"""Histories of batches with few samples."""

from collections.abc import Mapping, Sequence

from sickbay.history import History
from sickbay.vitals import Kind, Setup, Table, Vitals

Rows = Mapping[str, Mapping[str, float]]
LAYERS = {"1": "ReLU", "2": "Tanh", "3": "Linear"}


def setup(size: int) -> Setup:
    return Setup(output_shape=(size, 3), layers=LAYERS)


def history(size: int, kind: Kind, readings: Sequence[Rows], loss: Sequence[float] = ()) -> History:
    made = History(setup(size), loss=loss)
    for step, rows in enumerate(readings):
        made.append(Vitals(step=step, tables=[Table.of(kind, step, rows)]))
    return made
