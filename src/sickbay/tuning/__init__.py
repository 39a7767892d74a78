"""Hyperparameter search: which trials to end, and which to leave alone."""

from importlib import import_module
from typing import Any

_MODULES = ("measures", "optuna", "ray")  # found when first used: two of them need more packages


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sickbay.tuning' has no attribute {name!r}")
    return import_module(f"sickbay.tuning.{name}")
