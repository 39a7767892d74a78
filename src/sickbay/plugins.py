"""Finding problems, remedies and statements: in a folder, and in other installed packages."""

import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from pkgutil import walk_packages
from types import ModuleType
from typing import TypeVar

from sickbay.thresholds import Tunable

Kind = TypeVar("Kind", bound=Tunable)


def classes_in(package: ModuleType, kind: type[Kind]) -> dict[str, type[Kind]]:
    """Return every concrete class of a kind defined in a package, by its name in snake case.

    Of two classes with the same name, the one nearer to the top of the package counts, then the
    first by the alphabet.
    """
    found: dict[str, type[Kind]] = {}
    modules = [info.name for info in walk_packages(package.__path__, f"{package.__name__}.")]
    for name in sorted(modules, key=lambda name: (name.count("."), name), reverse=True):
        found |= {
            each.name(): each
            for each in vars(import_module(name)).values()
            if _is_concrete(each, kind) and each.__module__ == name
        }
    return dict(sorted(found.items()))


def classes_from_packages(group: str, kind: type[Kind]) -> dict[str, type[Kind]]:
    """Return the classes of a kind that installed packages declare as entry points of a group.

    A class that cannot be loaded, or not be created without arguments, is skipped with a warning:
    it must not stop anyone's training.
    """
    found: dict[str, type[Kind]] = {}
    for point in _declared(group):
        try:
            each = point.load()
            if not _is_concrete(each, kind):
                raise TypeError(f"it is not a concrete subclass of {kind.__name__}")
            each()  # whoever names it gives no settings
            found[each.name()] = each
        except Exception as error:
            why = f"{point.value} of {point.group}: {type(error).__name__}: {error}"
            message = f"sickbay skips the entry point {why}."
            warnings.warn(message, RuntimeWarning, stacklevel=2)
    return found


@cache  # looking through all installed packages takes milliseconds
def _declared(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _is_concrete(each: object, kind: type[Kind]) -> bool:
    return isinstance(each, type) and issubclass(each, kind) and not isabstract(each)
