"""Hyperparameter search: ending the trials that are sick or hopeless."""

from importlib import import_module
from typing import Any

_MODULES = ("optuna", "ray")  # imported when first used: they need packages of their own


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sickbay.tuning' has no attribute {name!r}")
    return import_module(f"sickbay.tuning.{name}")
