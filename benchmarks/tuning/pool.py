"""A pool: recorded trials of one task in one small file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile

import numpy as np

from benchmarks.tuning.packed_arrays import Array, members, packed, unpacked
from sickbay.arguments import bad_argument, check_choice, check_float, check_int, check_path
from sickbay.errors import UsageError
from sickbay.json_dataclasses import dataclass_from_json, json_list, json_object, to_json
from sickbay.reports import terminal
from sickbay.safe_files import parse_json, read_error
from sickbay.tuning.load_search import make_search
from sickbay.tuning.recorded_search import Epoch, RecordedSearch, RecordedTrial
from sickbay.vitals import COLUMN, STATISTICS, Kind, Setup, Table

KINDS: tuple[Kind, ...] = ("gradient", "weight", "activation")
OLDER_COLUMNS = {  # of pools that do not name their columns
    "gradient": ("count", "norm", "mean_abs", "zeros", "nonfinite"),
    "weight": ("norm", "nonfinite", "update_ratio"),
    "activation": ("variance", "zeros", "nonfinite", "dead_units"),
}
# The statistics that problems read.
COLUMNS = {**OLDER_COLUMNS, "activation": (*OLDER_COLUMNS["activation"], "lasting_dead")}
MEMBERS = ("pool.json", "scalars.npy", *(f"{kind}.npy" for kind in KINDS))


@dataclass(frozen=True)
class Pool:
    """The trials of a task, and how they were recorded."""

    task: str
    about: dict[str, Any]
    trials: Sequence[RecordedTrial]
    damaged: tuple[str, ...] = ()  # one reason for each trial that was skipped


def save(pool: Pool, path: Path) -> None:
    """Write a pool. Statistics are rounded to three digits."""
    epochs = [epoch for trial in pool.trials for epoch in trial.epochs]
    names = sorted({name for epoch in epochs for name in epoch.scalars})
    head: dict[str, Any] = {"task": pool.task, "about": pool.about, "scalars": names}
    head["columns"] = COLUMNS
    head["trials"] = [_head(trial) for trial in pool.trials]
    rows = [[*(each.scalars.get(name, np.nan) for name in names), each.seconds] for each in epochs]
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_LZMA) as file:
        file.writestr("pool.json", json.dumps(head))
        file.writestr("scalars.npy", packed(np.array(rows, np.float32).ravel(), 0))
        for kind in KINDS:
            tables = [table for each in epochs for table in each.tables if table.kind == kind]
            cells = [np.zeros(0, np.float32), *map(_cells, tables)]
            file.writestr(f"{kind}.npy", packed(np.concatenate(cells)))


def load(path: Path) -> Pool:
    """Read a pool. Damaged trials are skipped, and `damaged` says why."""
    path = check_path("path", path)
    data = members(path, MEMBERS)
    try:
        return _Reader(data, parse_json(data["pool.json"], path)).pool()
    except UsageError as error:
        raise read_error(path, str(error).rstrip(".")) from None


@dataclass(frozen=True)
class _Head:
    task: str
    scalars: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: OLDER_COLUMNS)


@dataclass(frozen=True)
class _Rows:
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Trial:
    name: str
    setup: Setup
    first: Mapping[str, float]


class _Reader:
    """Reads trials from the members of a file that may be damaged."""

    def __init__(self, data: Mapping[str, bytes], head: object) -> None:
        self._given, self._head = json_object("pool.json", head), dataclass_from_json(_Head, head)
        self._scalars = _Stream("scalars.npy", data)
        self._stored = {kind: _Stream(f"{kind}.npy", data) for kind in KINDS}
        self._columns = {
            kind: [COLUMN[check_choice("column", name, COLUMN)] for name in names]
            for kind, names in self._head.columns.items()
        }
        for kind in KINDS:
            check_choice("kind of columns", kind, self._columns)

    def pool(self) -> Pool:
        trials: list[RecordedTrial] = []
        damaged: list[str] = []
        given = json_list("trials", self._given.get("trials"))
        for place, trial in enumerate(given):
            try:
                epochs = list(self._epochs(json_object("a trial", trial)))
            except UsageError as error:  # the numbers of the next trial could start anywhere
                damaged += [f"trial {place}: {error}"] * (len(given) - place)
                break
            try:
                trials.append(_recorded(trial, epochs))
            except UsageError as error:
                damaged.append(f"trial {place}: {error}")
        about = json_object("about", self._given.get("about"))
        return Pool(self._head.task, about, trials, tuple(damaged))

    def _epochs(self, trial: Mapping[str, Any]) -> Iterator[Epoch]:
        names, rows = self._head.scalars, dataclass_from_json(_Rows, trial).rows
        for tables in json_list("tables", trial.get("tables")):
            *values, seconds = self._scalars.take(len(names) + 1).astype(float).tolist()
            made = [self._table(each, rows) for each in json_list("tables", tables)]
            yield Epoch(dict(zip(names, values, strict=True)), made, seconds)

    def _table(self, table: object, rows: Sequence[tuple[str, ...]]) -> Table:
        if not isinstance(table, list) or len(table) != 3:
            raise bad_argument("a table", "its kind, step and rows", table)
        kind: Kind = check_choice("kind of table", table[0], KINDS)  # type: ignore[assignment]
        step = check_int("step", table[1], least=0)
        names = rows[check_int("rows", table[2], least=0, most=len(rows) - 1)]
        columns = self._columns[kind]
        cells = self._stored[kind].take(len(names) * len(columns))
        values = np.full((len(names), len(STATISTICS)), np.nan)
        values[:, columns] = cells.reshape(-1, len(columns))
        return Table(kind, step, names, values)


class _Stream:
    """An array that is read piece by piece."""

    def __init__(self, name: str, data: Mapping[str, bytes]) -> None:
        self._name, self._place = name, 0
        self._values = unpacked(name, data[name])

    def take(self, count: int) -> Array:
        left = len(self._values) - self._place
        if count > left:
            raise UsageError(f"{self._name} has {left} numbers left where {count} are needed.")
        self._place += count
        return self._values[self._place - count : self._place]


def _recorded(trial: Mapping[str, Any], epochs: Sequence[Epoch]) -> RecordedTrial:
    known, about = dataclass_from_json(_Trial, trial), json_object("about", trial.get("about"))
    for epoch in epochs:
        check_float("seconds", epoch.seconds, least=0)
    return RecordedTrial(known.name, known.setup, epochs, about, known.first)


def _head(trial: RecordedTrial) -> dict[str, Any]:
    """Return a trial as JSON. Each list of row names is written once."""
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


def read_pool(
    source: str | Path,
    metric: str | None = None,
    direction: str | None = None,
    study: object = None,
) -> RecordedSearch:
    """Return a pool as a search that can be replayed."""
    if study is not None:
        raise UsageError(f"--study needs an Optuna storage, got {study!r} with {str(source)!r}.")
    pool = load(Path(source))
    found = pool.trials, pool.about, pool.damaged
    return make_search(str(source), *found, metric, direction, terminal.print_notice)
