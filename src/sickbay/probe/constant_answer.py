"""The best constant answer to the targets so far."""

from dataclasses import dataclass, field
from math import log

import torch
from torch import Tensor

CLASSES = 10_000  # more are not counted


@dataclass
class ClassCounts:
    """How often each class was the target: the best constant answer is the most frequent one."""

    counts: dict[float, int] = field(default_factory=dict)

    def add(self, targets: Tensor) -> None:
        """Take the classes of a batch into account."""
        if len(self.counts) <= CLASSES:
            values, counts = torch.unique(targets, return_counts=True)
            for value, count in zip(values.tolist(), counts.tolist(), strict=True):
                self.counts[value] = self.counts.get(value, 0) + count

    @property
    def share(self) -> float:
        """The share of targets that are of the most frequent class."""
        return max(self.counts.values(), default=0) / max(1, sum(self.counts.values()))

    @property
    def entropy(self) -> float:
        """The cross-entropy of answering each time with how frequent the classes are.

        >>> counts = ClassCounts({0.0: 5, 1.0: 5})
        >>> round(counts.entropy, 3)
        0.693
        """
        total = sum(self.counts.values())
        return -sum(count / total * log(count / total) for count in self.counts.values())


@dataclass
class ColumnMeans:
    """The mean of every column of the targets, and how far the targets are from it."""

    number: int = 0  # of rows
    means: Tensor = field(default_factory=lambda: torch.zeros(1).double())
    squares: float = 0.0  # sum of squared deviations, each from the mean of its column

    def add(self, targets: Tensor) -> None:
        """Take the rows of a batch into account. Another number of columns starts over."""
        if targets.shape[1:] != self.means.shape:
            self.number, self.means, self.squares = 0, torch.zeros_like(targets[0]), 0.0
        count, means = len(targets), targets.mean(0)
        moved, total = means - self.means, self.number + count
        self.squares += float((targets - means).square().sum())
        self.squares += float(moved.square().sum()) * self.number * count / total
        self.means = self.means + moved * (count / total)
        self.number = total

    @property
    def variance(self) -> float:
        """The mean variance of a column, corrected for the means being those of the same rows."""
        return self.squares / (max(1, self.number - 1) * len(self.means))

    @property
    def share(self) -> float:
        """The share of right answers if each column always says what is more frequent in it."""
        return float(torch.maximum(self.means, 1 - self.means).mean())
