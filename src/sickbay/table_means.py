"""What a history keeps of the tables of an epoch: their mean."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sickbay.vitals import COLUMN, STATISTICS, Kind, Numbers, Table

# The statistics that problems ask for. All of them would cost every loop several times as much.
AVERAGED: Mapping[Kind, tuple[str, ...]] = {
    "gradient": ("absmax", "mean_abs", "zeros", "nonfinite"),
    "activation": ("zeros", "dead_units"),
}
COLUMNS = {kind: [COLUMN[name] for name in names] for kind, names in AVERAGED.items()}
MOST = 32  # tables that wait until they are added together, which is faster than one by one


@dataclass(frozen=True)
class _Sum:
    """The sum of some tables, and how many of them have each value."""

    step: int
    names: tuple[str, ...]
    values: Numbers
    counts: Numbers


class TableMeans:
    """The mean of all tables of an epoch, for each kind, row and some statistics.

    What a table did not measure does not count. Memory does not grow with the epoch.

    >>> means = TableMeans()
    >>> for step, share in enumerate([0.0, 0.2, 0.7]):
    ...     means.add(Table.of("gradient", step, {"a.weight": {"zeros": share}}))
    >>> means.end_epoch()
    >>> means.newest("gradient").column("zeros").tolist()
    [0.3]
    """

    def __init__(self) -> None:
        self._waiting: dict[Kind, list[Table]] = defaultdict(list)
        self._sums: dict[Kind, _Sum] = {}
        self._newest: dict[Kind, Table] = {}

    def add(self, table: Table) -> None:
        """Add a table of the current epoch."""
        if table.kind in AVERAGED:
            waiting = self._waiting[table.kind]
            waiting.append(table)
            if len(waiting) >= MOST:
                self._add_waiting(table.kind)

    def end_epoch(self) -> None:
        """End the epoch. A kind that was not read in it keeps the mean of an earlier one."""
        for kind in list(self._waiting):
            self._add_waiting(kind)
        for kind, total in self._sums.items():
            values = np.full((len(total.names), len(STATISTICS)), np.nan)
            with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: not measured
                values[:, COLUMNS[kind]] = total.values / total.counts
            self._newest[kind] = Table(kind, total.step, total.names, values)
        self._sums.clear()

    def newest(self, kind: Kind) -> Table | None:
        """Return the mean of the newest finished epoch with tables of a kind."""
        return self._newest.get(kind)

    def forget(self) -> None:
        """Forget the tables of the current epoch, because some of them are not known."""
        self._waiting.clear()
        self._sums.clear()

    def _add_waiting(self, kind: Kind) -> None:
        tables = self._waiting.pop(kind)
        known = [self._sums[kind]] if kind in self._sums else []
        every = [*(each.names for each in known), *(each.names for each in tables)]
        names = max(every, key=len)  # in forward order, which the others may be parts of
        if any(each != names for each in every):
            names = tuple(dict.fromkeys(chain(names, *every)))
        columns = COLUMNS[kind]
        stack = np.stack(
            [_aligned(each.values[:, columns], each.names, names, np.nan) for each in tables]
        )
        values, counts = _added(stack)
        for total in known:
            values = values + _aligned(total.values, total.names, names, 0.0)
            counts = counts + _aligned(total.counts, total.names, names, 0.0)
        self._sums[kind] = _Sum(tables[-1].step, names, values, counts)


def _added(stack: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sum of some tables without what is NaN, and how many have each value."""
    with np.errstate(all="ignore"):  # of extreme values
        values: Numbers = stack.sum(0)
    if not np.isnan(values).any():
        return values, np.full(values.shape, float(len(stack)))
    there = ~np.isnan(stack)
    with np.errstate(all="ignore"):
        return np.where(there, stack, 0.0).sum(0), there.sum(0).astype(float)


def _aligned(
    values: Numbers, rows: tuple[str, ...], names: tuple[str, ...], missing: float
) -> Numbers:
    """Return values with one row for each of `names`."""
    if rows == names:
        return values
    made = np.full((len(names), values.shape[1]), missing)
    made[[names.index(name) for name in rows]] = values
    return made
