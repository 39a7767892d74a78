"""Ending the trials of an Optuna study by diagnosis."""

from importlib.util import find_spec

if find_spec("optuna") is None:
    raise ImportError(
        "sickbay.tuning.optuna needs the package optuna: pip install 'sickbay[optuna]'."
    )

from sickbay.tuning.optuna.pruner import DiagnosisPruner as DiagnosisPruner
from sickbay.tuning.optuna.watch_trial import OptunaDoctor as OptunaDoctor
from sickbay.tuning.optuna.watch_trial import watch as watch
