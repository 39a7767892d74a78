"""Hyperparameter search: ending the trials that are sick or hopeless."""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = ("optuna", "ray")  # imported when first used: they need packages of their own
_RENAMED = {"charted": "charted_trials", "reading": "load_search"}


class _OldName(ModuleType):
    """A renamed module under its old name. It warns when something in it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system, not by a user
            raise AttributeError(name)
        new = f"{__name__}.{_RENAMED[self.__name__.rpartition('.')[2]]}"
        warnings.warn(f"{self.__name__} is now called {new}.", DeprecationWarning, stacklevel=2)
        return getattr(import_module(new), name)


for _name in _RENAMED:
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _OldName(f"{__name__}.{_name}")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sickbay.tuning' has no attribute {name!r}")
    return import_module(f"sickbay.tuning.{name}")
