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
    """First values, best value, sums over the epoch so far and values by epoch, each by scalar.

    >>> totals = Totals()
    >>> totals.extend("loss", [3.0, 1.0])
    >>> totals.end_epoch({"val_loss": 2.5})
    >>> totals.first["loss"], totals.best["loss"], totals.epochs
    ([3.0, 1.0], 3.0, {'loss': [2.0], 'val_loss': [2.5]})
    """

    first: dict[str, list[float]] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    sums: dict[str, tuple[float, int]] = field(default_factory=dict)
    epochs: dict[str, list[float]] = field(default_factory=dict)
    by_step: set[str] = field(default_factory=set)  # names that steps have had

    def add(self, name: str, value: float) -> None:
        """Add a value of a step."""
        known = self.sums.get(name)
        if known is None:
            self.by_step.add(name)
            known = 0.0, 0
        self.sums[name] = known[0] + value, known[1] + 1
        self._note(name, value)

    def extend(self, name: str, values: Sequence[float]) -> None:
        """Add the values of many steps of one epoch, with the same result as one by one."""
        if not values:
            return
        self.by_step.add(name)
        total, count = self.sums.get(name, (0.0, 0))
        # One after the other, as `sum` would round in another way.
        self.sums[name] = reduce(add, values, total), count + len(values)
        first = self.first.setdefault(name, [])
        first.extend(islice(filter(isfinite, values), FIRST - len(first)))
        # A sum that is no NaN had none in it, and `max` may be asked at once.
        known = values if self.sums[name][0] == self.sums[name][0] else _numbers(values)
        best = max(known, default=-inf)
        if best > self.best.get(name, -inf):
            self.best[name] = best

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Close the epoch: keep the mean of every scalar over its steps, and the metrics given."""
        for name, (total, count) in self.sums.items():
            if name not in metrics:
                self.epochs.setdefault(name, []).append(total / count)
        for name, value in metrics.items():
            self.epochs.setdefault(name, []).append(value)
            self._note(name, value, first=name not in self.by_step)
        self.sums.clear()

    def lengths(self) -> dict[str, tuple[int, int]]:
        """Return how long the lists are, for `since`."""
        names = {*self.first, *self.epochs}
        return {
            name: (len(self.first.get(name, ())), len(self.epochs.get(name, ()))) for name in names
        }

    def since(self, lengths: Mapping[str, tuple[int, int]]) -> "Totals":
        """Return what `skip` needs to get from where the lists were that long to here."""
        first = {name: each[lengths.get(name, (0, 0))[0] :] for name, each in self.first.items()}
        epochs = {name: each[lengths.get(name, (0, 0))[1] :] for name, each in self.epochs.items()}
        return Totals(first, dict(self.best), dict(self.sums), epochs, set(self.by_step))

    def skip(self, new: "Totals") -> None:
        """Take over what `since` has returned."""
        for mine, theirs in ((self.first, new.first), (self.epochs, new.epochs)):
            for name, values in theirs.items():
                if values:
                    mine.setdefault(name, []).extend(values)
        self.best.update(new.best)
        self.sums = dict(new.sums)
        self.by_step |= new.by_step

    def _note(self, name: str, value: float, first: bool = True) -> None:
        if first:
            kept = self.first.setdefault(name, [])
            if len(kept) < FIRST and isfinite(value):
                kept.append(value)
        if value > self.best.get(name, -inf):
            self.best[name] = value


def _numbers(values: Sequence[float]) -> list[float]:
    return [value for value in values if value == value]
