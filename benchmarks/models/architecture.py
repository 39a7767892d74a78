"""Architectures of published libraries, as their users would examine them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from typing import TypeAlias

from benchmarks.checkup.case import HALVES, Half, Inputs

Make: TypeAlias = Callable[[], Inputs]
DRAW = "models 1"  # changes which half each architecture is in


def half_of(name: str) -> Half:
    """Return the half of an architecture. It is drawn from the name, so none is ever chosen."""
    return HALVES[sha256(f"{DRAW}: {name}".encode()).digest()[0] % 2]


@dataclass(frozen=True)
class Architecture:
    """A sound model of a published library, with the batch and the loss of its documentation.

    Attributes:
        name: The library and the function that makes it, as in "timm/resnet18".
        library: The library as its documentation calls it.
        needs: The modules that must be installed.
        make: Creates it with random weights.
    """

    name: str
    library: str
    needs: tuple[str, ...]
    make: Make

    @property
    def half(self) -> Half:
        return half_of(self.name)

    @property
    def installed(self) -> bool:
        return all(find_spec(module) is not None for module in self.needs)


class Library:
    """The architectures of a library, added by a decorator.

    >>> library = Library("torch", "torch")
    >>> @library.architecture
    ... def line() -> Inputs:
    ...     import torch
    ...
    ...     return Inputs(torch.nn.Linear(2, 1))
    >>> library.all[0].name, library.all[0].installed
    ('torch/line', True)
    """

    def __init__(self, name: str, *needs: str) -> None:
        self.name = name
        self.needs = needs
        self.all: list[Architecture] = []

    def architecture(self, make: Make) -> Make:
        """Add a function that returns the arguments of a checkup."""
        name = f"{self.name}/{make.__name__}"
        self.all.append(Architecture(name, self.name, self.needs, make))
        return make
