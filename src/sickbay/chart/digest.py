"""What there is to know of a block of rows without looking into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sickbay.arguments import whole
from sickbay.chart.columns import Columns, no_tables
from sickbay.chart.format import Line, listed, to_json
from sickbay.fields import revived
from sickbay.history import History
from sickbay.totals import FIRST, Totals


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a block belongs in the run, and where its tables are in their file.

    Attributes:
        row: Number of its first row.
        table: Number of its first table.
        at: Where its tables begin, in bytes.
        until: Where they end.
        kinds: How many tables it has of each kind.
    """

    row: int
    table: int
    at: int
    until: int
    kinds: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Digest(Place):
    """What a history keeps of a block for good.

    Attributes:
        rows: How many rows it has.
        step: The newest step of the run until here.
        epoch: The epoch that the run is in after it.
        counts: How many values each scalar has in it.
        first: Those that are among the first of the run.
        best: The best value of each scalar in the run until here.
        sums: Sum of each scalar over the epoch until here.
        amounts: How many values make up each of these sums.
        epochs: Values of each scalar by epoch, for the epochs that end in it.
    """

    rows: int
    step: int
    epoch: int
    counts: Mapping[str, int]
    first: Mapping[str, tuple[float, ...]]
    best: Mapping[str, float]
    sums: Mapping[str, float]
    amounts: Mapping[str, int]
    epochs: Mapping[str, tuple[float, ...]]

    @classmethod
    def read(cls, fields: Any) -> Digest:
        """Return a digest from JSON; a `UsageError` if it cannot be one."""
        made = revived(cls, fields)
        for name in ("row", "table", "at", "rows"):
            whole(name, getattr(made, name), least=0)
        whole("until", made.until, least=made.at)
        for name, least in (("kinds", 0), ("counts", 0), ("amounts", 1)):
            whole(name, min(getattr(made, name).values(), default=least), least=least)
        return made

    def skip(self, history: History) -> None:
        """Take a history past the block."""
        sums = {name: (total, self.amounts.get(name, 1)) for name, total in self.sums.items()}
        first = {name: list(values[:FIRST]) for name, values in self.first.items()}
        epochs = {name: list(values) for name, values in self.epochs.items()}
        new = Totals(first, dict(self.best), sums, epochs, set(self.counts))
        history.skip(self.step, self.epoch, new)


def digested(place: Place, columns: Columns, history: History) -> Line:
    """Return the digest of a block as JSON can hold it; the history of the run goes past it."""
    lengths = history.totals.lengths()
    for _ in columns.play(history, place.table, no_tables):
        pass
    new = history.totals.since(lengths)
    return {
        **vars(place),
        "rows": len(columns.steps) + len(columns.ends),
        "step": history.step,
        "epoch": history.epoch,
        "counts": {name: len(values) for name, (_, values) in columns.scalars.items()},
        "first": {name: listed(values) for name, values in new.first.items() if values},
        "best": to_json(new.best),
        "sums": to_json({name: total for name, (total, _) in new.sums.items()}),
        "amounts": {name: amount for name, (_, amount) in new.sums.items()},
        "epochs": {name: listed(values) for name, values in new.epochs.items() if values},
    }
