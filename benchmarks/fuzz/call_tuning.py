"""Calls for hyperparameter searches."""

from __future__ import annotations

from functools import cache
from typing import Any

import optuna
import torch

import sickbay.tuning.optuna as with_optuna
from benchmarks.fuzz import odd_models, sound_files
from benchmarks.fuzz.call_loops import call_in_loop, learn
from benchmarks.fuzz.call_with_wrong_arguments import Call, Make
from benchmarks.fuzz.damage_folder import write
from benchmarks.fuzz.fuzz_input import FuzzInput
from sickbay.problems.profiles import choose
from sickbay.tuning import charted_trials
from sickbay.tuning.calibration import calibrate
from sickbay.tuning.load_search import read
from sickbay.tuning.recorded_search import Epoch, RecordedSearch, RecordedTrial
from sickbay.tuning.replay import replay

optuna.logging.set_verbosity(optuna.logging.CRITICAL)


@cache
def study() -> optuna.Study:
    return optuna.create_study(direction="maximize")


def tuned(case: FuzzInput) -> dict[str, Any]:
    """Return the options that both kinds of `watch` share."""
    return {
        "epochs": 2,
        "metric": "val_accuracy",
        "profile": "tuning",
        "problems": None,
        "chart": case.random.choice((None, str(case.home / "t"))),
        "every": "auto",
        "budget": 0.01,
        "activations": True,
    }


def watch_optuna(case: FuzzInput) -> Call:
    model = odd_models.sound()
    optimizer = odd_models.optimizer_of(model)
    trial = optuna.create_study(direction="maximize").ask()
    kwargs = {"trial": trial, "model": model, "optimizer": optimizer, **tuned(case)}
    kwargs |= {"direction": None, "learns": "last", "penalty": None}

    def train(doctor: with_optuna.OptunaDoctor) -> None:
        x, y = odd_models.batch(8)
        try:
            for _ in range(2):
                loss = learn(model, optimizer, x, y)
                call_in_loop(case, doctor.step, loss)
                doctor.epoch(val_accuracy=0.5)
            doctor.result()
        except optuna.TrialPruned:
            pass
        finally:
            call_in_loop(case, doctor.close)

    return Call("tuning.optuna.watch", with_optuna.watch, (), kwargs, train)


def epoch_optuna(case: FuzzInput) -> Call:
    """Pass odd numbers to the doctor of a trial."""
    model = odd_models.sound()
    trial = optuna.create_study(direction="maximize").ask()
    doctor = with_optuna.watch(trial, model, odd_models.optimizer_of(model), epochs=2)

    def epoch(**given: Any) -> Any:
        try:
            return doctor.epoch(**given)
        except optuna.TrialPruned:
            return None

    def end(_: Any) -> None:
        call_in_loop(case, doctor.close)

    kwargs = {"val_accuracy": 0.5, "val_loss": torch.tensor(1.0)}
    return Call("OptunaDoctor.epoch", epoch, (), kwargs, end)


def watch_ray(case: FuzzInput) -> Call:
    from sickbay.tuning import ray as with_ray

    model = odd_models.sound()
    kwargs = {
        "model": model,
        "optimizer": odd_models.optimizer_of(model),
        "mode": "max",
        **tuned(case),
    }
    return Call("tuning.ray.watch", with_ray.watch, (), kwargs)  # refused outside of a trial


def pruner(_: FuzzInput) -> Call:
    def prune(made: with_optuna.DiagnosisPruner) -> None:
        made.prune(study(), optuna.trial.create_trial(value=1.0))

    return Call("DiagnosisPruner", with_optuna.DiagnosisPruner, (), {"base": None}, prune)


def search(case: FuzzInput) -> RecordedSearch:
    trials = []
    for number in range(3):
        numbers = {"loss": 1.0, "val_accuracy": case.random.choice((0.1, 0.5, float("nan")))}
        trials.append(RecordedTrial(f"t{number}", sound_files.SETUP, [Epoch(numbers)] * 3))
    return RecordedSearch("s", trials, "val_accuracy", True)


def replayed(case: FuzzInput) -> Call:
    return Call("tuning.replay.replay", replay, (search(case), choose("tuning", None)))


def calibrated(case: FuzzInput) -> Call:
    return Call("tuning.calibration.calibrate", calibrate, ([search(case)], choose("tuning", None)))


def reading(case: FuzzInput) -> Call:
    write(dict(sound_files.search()), case.home / "s")
    kwargs = {"source": str(case.home / "s"), "metric": None, "direction": None, "study": None}
    return Call("tuning.reading.read", read, (), kwargs)


def noting(case: FuzzInput) -> Call:
    write(dict(sound_files.chart()), case.home / "c")
    kwargs = {"chart": str(case.home / "c"), "metric": "val_loss", "direction": "minimize"}
    return Call("tuning.charted.note", charted_trials.note, (), {**kwargs, "number": 1})


TARGETS: dict[Make, float] = {
    watch_optuna: 6,
    epoch_optuna: 3,
    watch_ray: 2,
    pruner: 1,
    replayed: 2,
    calibrated: 1,
    reading: 3,
    noting: 1,
}
