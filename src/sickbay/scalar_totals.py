"""What is kept of scalars for good, however small the window is: bounded, but for the epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from math import inf, isfinite
from operator import add

FIRST = 32  # values of a scalar that are kept from the start


@dataclass
class Totals:
    """What is kept of each scalar.

    >>> totals = Totals()
    >>> totals.extend("loss", [3.0, 1.0])
    >>> totals.end_epoch({"val_loss": 2.5})
    >>> totals.first, totals.best["loss"], totals.epochs
    ({'loss': [3.0, 1.0]}, 3.0, {'loss': [2.0], 'val_loss': [2.5]})

    Attributes:
        first: Its first finite values by step.
        best: Its highest value on either clock.
        sums: Sum and count of its values over the epoch so far.
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
        """Add the values of many steps of one epoch, with the same result as one by one."""
        if not values:
            return
        total, count = self.sums.get(name, (0.0, 0.0))
        # One after the other, as `sum` would round in another way.
        total = reduce(add, values, total)
        self.sums[name] = total, count + len(values)
        first = self.first.setdefault(name, [])
        first.extend(islice(filter(isfinite, values), FIRST - len(first)))
        # A sum that is no NaN had none in it, and `max` may be asked at once.
        numbers = values if total == total else [value for value in values if value == value]
        self._compare(name, max(numbers, default=-inf))

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Close the epoch: keep the mean of every scalar over its steps, and the metrics given."""
        for name, (total, count) in self.sums.items():
            if name not in metrics:
                self.epochs.setdefault(name, []).append(total / count)
        for name, value in metrics.items():
            self.epochs.setdefault(name, []).append(value)
            self._compare(name, value)
        self.sums.clear()

    def skip(self, new: "Totals") -> None:
        """Go past steps: take over `new`, whose epochs are those that ended meanwhile."""
        self.first |= new.first
        self.best |= new.best
        self.sums = dict(new.sums)
        for name, values in new.epochs.items():
            self.epochs.setdefault(name, []).extend(values)

    def _compare(self, name: str, value: float) -> None:
        if value > self.best.get(name, -inf):
            self.best[name] = value
