"""Judging small batches several at a time, because a few samples say too little."""

from collections.abc import Sequence
from math import hypot, inf, isnan, nan
from operator import mul
from statistics import median

from sickbay.problems.shared.base import History, Problem, dataclass, threshold
from sickbay.vitals import Kind, Setup, Table

ONE_BY_ONE = ("cross_entropy", "nll", "multi_margin")  # take a single sample as a plain vector
LOOK_BACK = 32  # readings


@dataclass(frozen=True, kw_only=True)
class SampledProblem(Problem):
    """A problem that needs a number of samples to be seen.

    In a single sample a unit may be silent by chance, and a loss or a gradient far off. So if
    batches are smaller than `samples`, several readings together count as one.
    """

    samples: int = threshold(
        16, "Samples judged together, over several readings if batches are small.", least=1
    )

    def steps(self, history: History) -> int:
        """Return how many steps it takes to see enough samples, 1 if that is not known."""
        size = batch_size(history.setup)
        return -(-self.samples // size) if size else 1

    def readings_of_units(self, history: History) -> int:
        """Return how many readings show that units are dead rather than not needed.

        Small batches need twice as many: samples that wake the units may not have come yet.
        """
        steps = self.steps(history)
        return 2 * steps if steps > 1 else 1

    def readings(self, history: History, kind: Kind, least: int = 1) -> list[Table]:
        """Return the newest tables of a kind that hold enough samples, oldest first.

        Return at least `least` tables, or none if there are too few.
        """
        tables, sizes, seen = history.tables(kind, max(least, LOOK_BACK)), sizes_of(history), 0.0
        usual = batch_size(history.setup) or self.samples
        for count, table in enumerate(reversed(tables), 1):
            seen += max(1.0, usual * sizes.get(table.step, 1.0))
            if count >= least and seen >= self.samples:
                return tables[-count:]
        return []

    def first_loss(self, history: History) -> float:
        """Return the loss at the start, NaN if there is none."""
        return history.first("loss", self.steps(history))


def batch_size(setup: Setup) -> int:
    """Return how many samples a batch has, 0 if that is not known.

    >>> batch_size(Setup(output_shape=(32, 10))), batch_size(Setup())
    (32, 0)
    >>> batch_size(Setup(output_shape=(10,), loss="cross_entropy"))
    1
    """
    shape = setup.output_shape
    if len(shape) == 1 and setup.loss in ONE_BY_ONE:
        return 1
    return shape[0] if shape else 0


def sizes_of(history: History) -> dict[int, float]:
    """Return the size of each batch read, by step, as a share of the largest.

    The last batch of an epoch may be small.
    """
    tables = [each for each in history.tables("batch", LOOK_BACK) if "output" in each.names]
    counts = {each.step: each.row("output")["count"] for each in tables}
    largest = max((count for count in counts.values() if 0 < count < inf), default=nan)
    return {step: count / largest for step, count in counts.items() if 0 < count <= largest}


def typical(values: Sequence[float]) -> float:
    """Return the median, or NaN if any value is.

    >>> typical([1.0, 9.0, 2.0]), typical([1.0, nan, 2.0])
    (2.0, nan)
    """
    return nan if any(map(isnan, values)) else median(values)


def pooled(tables: Sequence[Table], name: str) -> dict[str, float]:
    """Return the statistics of a row over several tables, {} if there is no such row.

    >>> rows = [{"count": 1, "norm": 3, "mean": each, "variance": 0} for each in (3, -3)]
    >>> tables = [Table.of("batch", step, {"input": row}) for step, row in enumerate(rows)]
    >>> both = pooled(tables, "input")
    >>> both["count"], both["mean"], both["variance"]
    (2.0, 0.0, 9.0)
    """
    rows = [table.row(name) for table in tables if name in table.names]
    if len(rows) < 2:
        return rows[0] if rows else {}
    counts, means = ([row[key] for row in rows] for key in ("count", "mean"))
    total = sum(counts) or nan
    mean = sum(map(mul, counts, means)) / total
    squares = [row["count"] * (row["variance"] + (row["mean"] - mean) ** 2) for row in rows]
    return {
        "count": sum(counts),
        "norm": hypot(*(row["norm"] for row in rows)),
        "mean": mean,
        "variance": sum(squares) / total,
        "minimum": min(row["minimum"] for row in rows),
        "maximum": max(row["maximum"] for row in rows),
    }
