"""A pool of recorded trials in one small file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile

import numpy as np
from numpy.typing import NDArray

from sickbay.chart.format import from_json, to_json
from sickbay.readings import COLUMN, STATISTICS, Kind, Setup, Table
from sickbay.tuning.recorded import Epoch, Recorded

KINDS: tuple[Kind, ...] = ("gradient", "weight", "activation")
COLUMNS = {  # what the indicators read
    "gradient": ("count", "norm", "mean_abs", "zeros", "nonfinite"),
    "weight": ("norm", "nonfinite", "update_ratio"),
    "activation": ("variance", "zeros", "nonfinite", "dead_units"),
}
DROPPED = 13  # of the 23 bits of a fraction, in tables

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Pool:
    """The trials of a task, with what all of them share."""

    task: str
    about: dict[str, Any]
    trials: Sequence[Recorded]


def save(pool: Pool, path: Path) -> None:
    """Write a pool; what is in tables is rounded to three digits."""
    epochs = [epoch for trial in pool.trials for epoch in trial.epochs]
    names = sorted({name for epoch in epochs for name in epoch.scalars})
    head: dict[str, Any] = {"task": pool.task, "about": pool.about, "scalars": names}
    head["trials"] = [_head(trial) for trial in pool.trials]
    rows = [[*(each.scalars.get(name, np.nan) for name in names), each.seconds] for each in epochs]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_LZMA) as file:
        file.writestr("pool.json", json.dumps(head))
        file.writestr("scalars.npy", _packed(np.array(rows, np.float32).ravel(), 0))
        for kind in KINDS:
            tables = [table for each in epochs for table in each.tables if table.kind == kind]
            cells = [np.zeros(0, np.float32), *map(_cells, tables)]
            file.writestr(f"{kind}.npy", _packed(np.concatenate(cells)))


def load(path: Path) -> Pool:
    """Read a pool."""
    with ZipFile(path) as file:
        head = json.loads(file.read("pool.json"))
        scalars = _Stream(_unpacked(file.read("scalars.npy")))
        stored = {kind: _Stream(_unpacked(file.read(f"{kind}.npy"))) for kind in KINDS}
    trials = []
    for trial in head["trials"]:
        epochs = []
        rows = [tuple(names) for names in trial["rows"]]
        for listed in trial["tables"]:
            row = scalars.take(len(head["scalars"]) + 1).astype(float).tolist()
            tables = [
                _table(kind, step, rows[number], stored[kind]) for kind, step, number in listed
            ]
            values = dict(zip(head["scalars"], row[:-1], strict=True))
            epochs.append(Epoch(values, tables, row[-1]))
        setup = Setup.of(trial["setup"])
        first = from_json(trial["first"])
        trials.append(Recorded(trial["name"], setup, epochs, trial["about"], first))
    return Pool(head["task"], head["about"], trials)


class _Stream:
    """Numbers in a row, of which some are taken at a time."""

    def __init__(self, values: Array) -> None:
        self._values, self._place = values, 0

    def take(self, count: int) -> Array:
        self._place += count
        return self._values[self._place - count : self._place]


def _head(trial: Recorded) -> dict[str, Any]:
    """Return what a trial is, with every list of row names written once."""
    known: dict[tuple[str, ...], int] = {}
    tables = [
        [
            (table.kind, table.step, known.setdefault(table.names, len(known)))
            for table in epoch.tables
            if table.kind in KINDS
        ]
        for epoch in trial.epochs
    ]
    about = {"name": trial.name, "setup": asdict(trial.setup), "about": dict(trial.about)}
    return {**about, "first": to_json(trial.first), "tables": tables, "rows": list(known)}


def _cells(table: Table) -> Array:
    columns = [COLUMN[name] for name in COLUMNS[table.kind]]
    with np.errstate(over="ignore"):
        return table.values[:, columns].astype(np.float32).ravel()


def _table(kind: Kind, step: int, names: tuple[str, ...], stored: _Stream) -> Table:
    columns = [COLUMN[name] for name in COLUMNS[kind]]
    values = np.full((len(names), len(STATISTICS)), np.nan)
    values[:, columns] = stored.take(len(names) * len(columns)).reshape(-1, len(columns))
    return Table(kind, step, names, values)


def _packed(values: Array, dropped: int = DROPPED) -> bytes:
    """Return the numbers rounded, their bytes sorted by place, which packs better."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + (1 << dropped >> 1)) >> dropped << dropped
    rounded = np.where(np.isfinite(values), rounded, bits).astype("<u4")
    file = BytesIO()
    np.save(file, rounded.view(np.uint8).reshape(-1, 4).T)
    return file.getvalue()


def _unpacked(data: bytes) -> Array:
    planes = np.load(BytesIO(data))
    return np.ascontiguousarray(planes.T).view("<f4").ravel()
