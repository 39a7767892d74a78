"""Hyperparameter search: ending the trials that are sick or hopeless."""

import warnings
from importlib import import_module
from typing import Any

_MODULES = ("optuna", "ray")  # imported when first used: they need packages of their own
_RENAMED = {"charted": "charted_trials", "reading": "load_search"}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        message = f"sickbay.tuning.{name} is now called sickbay.tuning.{_RENAMED[name]}."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    elif name not in _MODULES:
        raise AttributeError(f"module 'sickbay.tuning' has no attribute {name!r}")
    return import_module(f"sickbay.tuning.{name}")
