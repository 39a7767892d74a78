"""A trial that is over, epoch by epoch, so that it can be judged again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sickbay.history import History
from sickbay.vitals import Setup, Table, Vitals


@dataclass(frozen=True)
class Epoch:
    """What was measured in one epoch: means and metrics, tables, and how long it took."""

    scalars: Mapping[str, float]
    tables: Sequence[Table] = ()
    seconds: float = 1.0


@dataclass(frozen=True)
class Recorded:
    """A trial from its first epoch to its last.

    `first` are the scalars of its first step, `steps` those of an epoch, where no tables tell.

    >>> trial = Recorded("3", Setup(epochs=2), [Epoch({"loss": 0.9}), Epoch({"loss": 0.5})])
    >>> [history.epochs("loss") for history in trial.histories()]
    [[0.9], [0.9, 0.5]]
    """

    name: str
    setup: Setup
    epochs: Sequence[Epoch]
    about: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    steps: int = 1

    def histories(self) -> Iterator[History]:
        """Let the trial happen again: its one history after each epoch."""
        history = History(self.setup)
        if self.first:
            history.append(Vitals(0, scalars=self.first))
        for number, epoch in enumerate(self.epochs):
            steps = {table.step for table in epoch.tables} or {(number + 1) * self.steps - 1}
            for step in sorted(steps):
                tables = [table for table in epoch.tables if table.step == step]
                history.append(Vitals(step, number, tables=tables))
            history.end_epoch(**epoch.scalars)
            yield history
