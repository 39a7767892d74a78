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
    heads: list[dict[str, Any]] = []
    scalars: list[Array] = []
    tables: dict[str, list[Array]] = {kind: [] for kind in KINDS}
    names = sorted(
        {name for trial in pool.trials for each in trial.epochs for name in each.scalars}
    )
    for trial in pool.trials:
        head: dict[str, Any] = {
            "name": trial.name,
            "setup": asdict(trial.setup),
            "about": dict(trial.about),
        }
        head["tables"] = [
            [(table.kind, table.step, table.names) for table in epoch.tables]
            for epoch in trial.epochs
        ]
        heads.append(_shortened(head))
        for epoch in trial.epochs:
            row = [epoch.scalars.get(name, np.nan) for name in names]
            scalars.append(np.array([*row, epoch.seconds], np.float32))
            for table in epoch.tables:
                columns = [COLUMN[name] for name in COLUMNS[table.kind]]
                tables[table.kind].append(table.values[:, columns].astype(np.float32).ravel())
    whole = {"task": pool.task, "about": pool.about, "scalars": names, "trials": heads}
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_LZMA) as file:
        file.writestr("pool.json", json.dumps(whole))
        file.writestr("scalars.npy", _packed(np.concatenate(scalars), 0))
        for kind, parts in tables.items():
            file.writestr(f"{kind}.npy", _packed(np.concatenate(parts or [np.zeros(0, "f4")])))


def load(path: Path) -> Pool:
    """Read a pool."""
    with ZipFile(path) as file:
        head = json.loads(file.read("pool.json"))
        numbers = _unpacked(file.read("scalars.npy"))
        stored = {kind: _Stream(_unpacked(file.read(f"{kind}.npy"))) for kind in KINDS}
    scalars = _Stream(numbers)
    trials = []
    for trial in head["trials"]:
        epochs = []
        rows = [tuple(names) for names in trial["rows"]]
        for listed in trial["tables"]:
            row = scalars.take(len(head["scalars"]) + 1).astype(float)
            tables = [
                _table(kind, step, rows[number], stored[kind]) for kind, step, number in listed
            ]
            values = dict(zip(head["scalars"], row[:-1].tolist(), strict=True))
            epochs.append(Epoch(values, tables, float(row[-1])))
        setup = Setup.of(trial["setup"])
        trials.append(Recorded(trial["name"], setup, epochs, trial["about"]))
    return Pool(head["task"], head["about"], trials)


class _Stream:
    """Numbers in a row, of which some are taken at a time."""

    def __init__(self, values: Array) -> None:
        self._values, self._place = values, 0

    def take(self, count: int) -> Array:
        self._place += count
        return self._values[self._place - count : self._place]


def _table(kind: Kind, step: int, names: tuple[str, ...], stored: _Stream) -> Table:
    columns = [COLUMN[name] for name in COLUMNS[kind]]
    values = np.full((len(names), len(STATISTICS)), np.nan)
    values[:, columns] = stored.take(len(names) * len(columns)).reshape(-1, len(columns))
    return Table(kind, step, names, values)


def _shortened(head: dict[str, Any]) -> dict[str, Any]:
    """Return the head with every list of row names written once."""
    known: dict[tuple[str, ...], int] = {}
    head["tables"] = [
        [(kind, step, known.setdefault(tuple(names), len(known))) for kind, step, names in each]
        for each in head["tables"]
    ]
    return {**head, "rows": list(known)}


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
