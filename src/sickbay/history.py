"""The readings of a run so far, in bounded windows, from which problems are judged."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Reversible, Sequence
from functools import partial
from itertools import islice
from math import inf, isfinite, nan
from statistics import median
from typing import TypeAlias, TypeVar

from sickbay.scalar_totals import FIRST, Totals
from sickbay.table_means import TableMeans
from sickbay.vitals import Kind, Setup, Table, Vitals

EMBEDDINGS = ("Embedding", "EmbeddingBag")
Series: TypeAlias = "deque[tuple[int, float]]"
Item = TypeVar("Item")


class History:
    """The setup and the readings so far, by step and by epoch, both counted from 0.

    It keeps scalars of the newest `window` readings, the newest `tables`, the mean of the tables of
    the newest epoch, and the scalars of all epochs. Adding a reading takes the same time however
    long the run is.

    >>> history = History(loss=[2.3, 2.1])
    >>> history.append(Vitals(step=2, scalars={"loss": 1.9}))
    >>> history.recent("loss", 2), history.first("loss"), history.step
    ([2.1, 1.9], 2.3, 2)
    >>> history.end_epoch(val_loss=2.0)
    >>> history.epochs("loss"), history.epochs("val_loss"), history.epoch
    ([2.1], [2.0], 1)
    """

    def __init__(
        self,
        setup: Setup | None = None,
        *,
        window: int = 512,
        tables: int = 32,
        **scalars: Iterable[float],
    ) -> None:
        self.setup = setup or Setup()
        self.step = -1
        self.epoch = 0
        self.ended = False  # whether the run is over
        self.measured: Mapping[str, float] = {}  # the metrics given at the newest end of an epoch
        self._steps: dict[str, Series] = defaultdict(lambda: deque(maxlen=window))
        self._tables: dict[Kind, deque[Table]] = defaultdict(lambda: deque(maxlen=tables))
        self.totals = Totals()
        self._means = TableMeans()
        self._known_rows: dict[object, tuple[Setup | None, tuple[str, ...], list[int]]] = {}
        for name, values in scalars.items():
            for step, value in enumerate(values):
                self.append(Vitals(step=step, scalars={name: value}))

    def __repr__(self) -> str:
        kinds = ", ".join(self._tables)
        return f"<History to step {self.step}: {', '.join(self._steps)}; tables: {kinds or 'none'}>"

    def append(self, vitals: Vitals) -> None:
        """Add one reading."""
        step = vitals.step
        if step > self.step:
            self.step = step
        self.epoch = vitals.epoch
        for name, value in vitals.scalars.items():
            self._steps[name].append((step, value))
            self.totals.add(name, value)
        for table in vitals.tables:
            self._add_table(table)

    def add_table(self, kind: Kind, rows: Mapping[str, Mapping[str, float]], step: int = 0) -> None:
        """Add a reading of one table, given as plain numbers by row and statistic."""
        self.append(Vitals(step=step, tables=[Table.of(kind, step, rows)]))

    def extend(
        self,
        step: int,
        epoch: int,
        scalars: Mapping[str, tuple[Sequence[int], Sequence[float]]],
        tables: Iterable[Table] = (),
    ) -> None:
        """Add many readings of one epoch: for each scalar, its steps and its values.

        `step` and `epoch` are those of the newest reading.

        >>> history = History()
        >>> history.extend(2, 0, {"loss": ([0, 1, 2], [0.3, 0.2, 0.1]), "lr": ([2], [0.5])})
        >>> history.timed("loss", 2), history.latest("lr"), history.step
        ([(1, 0.2), (2, 0.1)], 0.5, 2)
        """
        self.step, self.epoch = max(self.step, step), epoch
        for name, (steps, values) in scalars.items():
            self._steps[name].extend(zip(steps, values, strict=True))
            self.totals.extend(name, values)
        for table in tables:
            self._add_table(table)

    def skip(self, step: int, epoch: int, new: Totals) -> None:
        """Skip readings that are older than every window; `new` holds their totals."""
        self.step, self.epoch = max(self.step, step), epoch
        self.totals.skip(new)
        self._means.forget()

    def end_epoch(self, /, **metrics: float) -> None:
        """End the epoch: keep the means of scalars and tables over it, and these metrics."""
        self.totals.end_epoch(metrics)
        self._means.end_epoch()
        self.measured = metrics
        self.epoch += 1

    def recent(self, name: str, count: int) -> list[float]:
        """Return up to `count` of the newest values of a scalar, oldest first."""
        return [value for _, value in self.timed(name, count)]

    def timed(self, name: str, count: int) -> list[tuple[int, float]]:
        """Return up to `count` of the newest (step, value) pairs of a scalar, oldest first."""
        return _newest(self._steps.get(name, ()), count)

    def latest(self, name: str) -> float:
        """Return the newest value of a scalar by step, NaN if there is none."""
        return next(iter(self.recent(name, 1)), nan)

    def first(self, name: str, count: int = 1) -> float:
        """Return the first finite value of a scalar, or the median of the first `count`, up to 32.

        If a scalar has no values by step, its values by epoch are used. NaN if there are none at
        all.
        """
        known = self.totals.first.get(name) or filter(isfinite, self.totals.epochs.get(name, ()))
        values = list(islice(known, min(count, FIRST)))
        return median(values) if values else nan

    def best(self, name: str) -> float:
        """Return the highest value of a scalar by step or by epoch, -inf if there is none."""
        return self.totals.best.get(name, -inf)

    def epochs(self, name: str) -> list[float]:
        """Return the value of a scalar for every epoch, oldest first."""
        return list(self.totals.epochs.get(name, ()))

    def mean_so_far(self, name: str) -> float:
        """Return the mean of a scalar over the steps of the current epoch, NaN if it has none.

        >>> History(accuracy=[0.5, 0.75]).mean_so_far("accuracy")
        0.625
        """
        total, count = self.totals.sums.get(name, (nan, 1.0))
        return total / count

    def epoch_names(self) -> list[str]:
        """Return the names of the scalars that any epoch has."""
        return list(self.totals.epochs)

    def table(self, kind: Kind) -> Table | None:
        """Return the newest table of a kind."""
        tables = self._tables.get(kind)
        return tables[-1] if tables else None

    def tables(self, kind: Kind, count: int) -> list[Table]:
        """Return up to `count` of the newest tables of a kind, oldest first."""
        return _newest(self._tables.get(kind, ()), count)

    def epoch_mean(self, kind: Kind) -> Table | None:
        """Return the mean of all tables of a kind in the newest epoch that is over and has some.

        It has `absmax`, `mean_abs`, `zeros` and `nonfinite` of gradients, and `zeros` and
        `dead_units` of layer outputs, each averaged over the readings that have it.

        >>> history = History()
        >>> for step, share in enumerate([0.0, 0.5, 1.0]):
        ...     history.add_table("gradient", {"a.weight": {"zeros": share}}, step)
        >>> history.end_epoch()
        >>> history.epoch_mean("gradient").row("a.weight")["zeros"]
        0.5
        """
        return self._means.newest(kind)

    def batch(self, name: str) -> dict[str, float]:
        """Return the statistics of the newest `input`, `output` or `target`, or {} if unknown."""
        table = self.table("batch")
        return table.row(name) if table is not None and name in table.names else {}

    def kernels(self, table: Table) -> list[int]:
        """Return the rows of a table that are kernels: weights of two or more dimensions.

        Embeddings do not count, because their gradients show which words occurred rather than how
        the signal flows.
        """
        return self._rows("kernels", table, partial(self._is_kernel, table))

    def embeddings(self, table: Table) -> list[int]:
        """Return the rows of a table of parameters that belong to embeddings."""
        return self._rows("embeddings", table, lambda name: self._is_embedding(table, name))

    def of_kinds(self, table: Table, kinds: tuple[str, ...]) -> list[int]:
        """Return the rows of an activation table whose layers are of these classes."""
        layers = self.setup.layers
        return self._rows(kinds, table, lambda name: layers.get(name, "") in kinds)

    def scalars(self) -> Mapping[str, float]:
        """Return the newest value of every scalar by step."""
        return {name: pairs[-1][1] for name, pairs in self._steps.items()}

    def _add_table(self, table: Table) -> None:
        self._tables[table.kind].append(table)
        self._means.add(table)

    def _rows(self, what: object, table: Table, wanted: Callable[[str], bool]) -> list[int]:
        """Return the rows whose names are wanted; cached, since names rarely change."""
        setup, names, rows = self._known_rows.get(what, (None, (), []))
        if setup is not self.setup or names != table.names:
            rows = [row for row, name in enumerate(table.names) if wanted(name)]
            self._known_rows[what] = self.setup, table.names, rows
        return rows

    def _is_kernel(self, table: Table, name: str) -> bool:
        wide = len(self.setup.shapes.get(name, (0, 0))) > 1
        return wide and not self._is_embedding(table, name)

    def _is_embedding(self, table: Table, name: str) -> bool:
        return self.setup.layers.get(table.layer(name), "") in EMBEDDINGS


def _newest(items: Reversible[Item], count: int) -> list[Item]:
    newest = list(islice(reversed(items), count))
    newest.reverse()
    return newest
