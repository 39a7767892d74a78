"""What a history keeps of each scalar for the whole run, beyond its window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from math import inf, isfinite
from operator import add

FIRST = 32  # first values of a scalar that are kept


@dataclass
class Totals:
    """The first values, best value and epoch means of each scalar.

    >>> totals = Totals()
    >>> totals.extend("loss", [3.0, 1.0])
    >>> totals.end_epoch({"val_loss": 2.5})
    >>> totals.first, totals.best["loss"], totals.epochs
    ({'loss': [3.0, 1.0]}, 3.0, {'loss': [2.0], 'val_loss': [2.5]})

    Attributes:
        first: Its first finite values by step.
        best: Its highest value by step or by epoch.
        sums: Sum and count of its values in the current epoch.
        epochs: Its value for every epoch.
    """

    first: dict[str, list[float]] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    sums: dict[str, tuple[float, ...]] = field(default_factory=dict)
    epochs: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: float) -> None:
        """Add a value of a step."""
        total, count = self.sums.get(name, (0.0, 0.0))
        self.sums[name] = total + value, count + 1
        first = self.first.get(name)
        if first is None:
            first = self.first[name] = []
        if len(first) < FIRST and isfinite(value):
            first.append(value)
        self._compare(name, value)

    def extend(self, name: str, values: Sequence[float]) -> None:
        """Add the values of many steps of one epoch; the result is the same as one by one."""
        if not values:
            return
        total, count = self.sums.get(name, (0.0, 0.0))
        # In order, because `sum` rounds differently.
        total = reduce(add, values, total)
        self.sums[name] = total, count + len(values)
        first = self.first.setdefault(name, [])
        first.extend(islice(filter(isfinite, values), FIRST - len(first)))
        # If the sum is not NaN, no value is, and `max` works directly.
        numbers = values if total == total else [value for value in values if value == value]
        self._compare(name, max(numbers, default=-inf))

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """End the epoch: keep the mean of every scalar over its steps, and the given metrics."""
        for name, (total, count) in self.sums.items():
            if name not in metrics:
                self.epochs.setdefault(name, []).append(total / count)
        for name, value in metrics.items():
            self.epochs.setdefault(name, []).append(value)
            self._compare(name, value)
        self.sums.clear()

    def skip(self, new: "Totals") -> None:
        """Skip steps: take over their totals, with the epochs that ended among them."""
        self.first |= new.first
        self.best |= new.best
        self.sums = dict(new.sums)
        for name, values in new.epochs.items():
            self.epochs.setdefault(name, []).extend(values)

    def _compare(self, name: str, value: float) -> None:
        if value > self.best.get(name, -inf):
            self.best[name] = value
