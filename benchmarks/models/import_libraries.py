"""Import every installed library once, in the process that all others are forked from."""

from __future__ import annotations

import warnings
from contextlib import suppress
from importlib import import_module

from benchmarks.models.all_models import every
from benchmarks.models.without_operators import prepare_torchvision

with warnings.catch_warnings(), suppress(Exception):
    warnings.simplefilter("ignore")
    prepare_torchvision()
    for name in {name: None for each in every().values() for name in each.architecture.needs}:
        with suppress(Exception):
            import_module(name)
