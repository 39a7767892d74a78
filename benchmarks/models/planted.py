"""Faults that are planted in sound architectures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.checkup.case import Half, Inputs
from benchmarks.models.architecture import half_of

Change: TypeAlias = Callable[[Inputs], Inputs]


@dataclass(frozen=True)
class Fault:
    """A fault in an architecture.

    Attributes:
        name: The architecture and the function that plants the fault.
        architecture: The name of the architecture.
        about: What is wrong, in one line.
        finds: The tests that may find it. One of them is enough.
        change: Takes the sound arguments of a checkup and returns the faulty ones.
    """

    name: str
    architecture: str
    about: str
    finds: tuple[str, ...]
    change: Change

    @property
    def half(self) -> Half:
        """The half of its architecture, so that nobody looks at the other half by a fault."""
        return half_of(self.architecture)


class FaultList:
    """The faults of a module, added by a decorator.

    >>> faults = FaultList()
    >>> @faults.plant("timm/resnet18", finds="labels_are_valid")
    ... def one_label_too_many(given: Inputs) -> Inputs:
    ...     '''Labels start at 1.'''
    ...     return replace(given, batch=(given.batch[0], given.batch[1] + 1))
    >>> faults.all[0].name, faults.all[0].about
    ('timm/resnet18, one label too many', 'Labels start at 1.')
    """

    def __init__(self) -> None:
        self.all: list[Fault] = []

    def plant(
        self, architecture: str, *, finds: str | tuple[str, ...]
    ) -> Callable[[Change], Change]:
        """Add a function that changes the model, the batch or the loss of an architecture."""

        def add(change: Change) -> Change:
            name = f"{architecture}, {change.__name__.replace('_', ' ')}"
            tests = (finds,) if isinstance(finds, str) else finds
            about = (change.__doc__ or "").strip()
            self.all.append(Fault(name, architecture, about, tests, change))
            return change

        return add
