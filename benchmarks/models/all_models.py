"""Every architecture and every planted fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

from benchmarks.checkup.case import Half, Inputs
from benchmarks.models.architecture import Architecture, Library
from benchmarks.models.planted import Fault
from benchmarks.models.without_operators import prepare_torchvision
from sickbay.checkups.statements import known_statements

Named = TypeVar("Named", Architecture, Fault)


@dataclass(frozen=True)
class Model:
    """What is examined: an architecture, sound or with a fault planted in it."""

    architecture: Architecture
    fault: Fault | None = None

    @property
    def name(self) -> str:
        return self.fault.name if self.fault else self.architecture.name

    @property
    def half(self) -> Half:
        return self.architecture.half

    def make(self) -> Inputs:
        """Return new arguments of a checkup."""
        prepare_torchvision()  # many libraries import it
        given = self.architecture.make()
        return self.fault.change(given) if self.fault else given


@cache
def every() -> dict[str, Model]:
    """Return all models by name: first the sound ones, then the faulty ones."""
    sound = unique(
        architecture
        for module in modules("libraries")
        for library in libraries_of(module)
        for architecture in library.all
    )
    planted = unique(fault for each in modules("faults") for fault in each.faults.all)
    for fault in planted.values():
        check(fault, sound)
    models = [Model(each) for each in sound.values()]
    models += [Model(sound[each.architecture], each) for each in planted.values()]
    return {each.name: each for each in models}


def libraries_of(module: ModuleType) -> Sequence[Library]:
    """Return the library of a module, or those of a module with several small ones."""
    several: Sequence[Library] = getattr(module, "libraries", None) or (module.library,)
    return several


def modules(folder: str) -> Iterator[ModuleType]:
    """Yield the modules of a folder by name."""
    package = import_module(f"benchmarks.models.{folder}")
    for module in sorted(iter_modules(package.__path__), key=lambda each: each.name):
        yield import_module(f"{package.__name__}.{module.name}")


def unique(listed: Iterable[Named]) -> dict[str, Named]:
    """Return things by name. Raise `ValueError` if two have the same."""
    found: dict[str, Named] = {}
    for each in listed:
        if each.name in found:
            raise ValueError(f"names must be unique, got {each.name!r} twice.")
        found[each.name] = each
    return found


def check(fault: Fault, sound: dict[str, Architecture]) -> None:
    """Raise `ValueError` unless the architecture and the tests of a fault exist."""
    if fault.architecture not in sound:
        raise ValueError(f"{fault.name}: there is no architecture {fault.architecture!r}.")
    unknown = [test for test in fault.finds if test not in known_statements()]
    if unknown or not fault.finds:
        raise ValueError(f"{fault.name}: finds must name tests that exist, got {fault.finds}.")
    if not fault.about:
        raise ValueError(f"{fault.name}: its docstring must say in one line what is wrong.")
