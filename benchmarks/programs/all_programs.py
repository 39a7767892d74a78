"""Every program of both halves: each module of a half has a `programs` list."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from benchmarks.programs.program import HALVES, Program


def find(half: str) -> Iterator[Program]:
    """Yield the programs of a half, module by module."""
    package = import_module(f"benchmarks.programs.{half}")
    for module in sorted(iter_modules(package.__path__), key=lambda each: each.name):
        yield from import_module(f"{package.__name__}.{module.name}").programs.all


def every() -> dict[str, Program]:
    """Return all programs by name. Raise `ValueError` if two have the same name."""
    found: dict[str, Program] = {}
    for half in HALVES:
        for program in find(half):
            if program.name in found:
                raise ValueError(f"names of programs must be unique, got {program.name!r} twice.")
            if program.half != half:
                raise ValueError(f"{program.name} must be in half {program.half!r}, got {half!r}.")
            found[program.name] = program
    return found
