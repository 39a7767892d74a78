"""What each process of a search does, with a study that they share."""

from __future__ import annotations

import warnings
from typing import Any

import optuna
import torch
from optuna.storages import BaseStorage, GrpcStorageProxy, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

from sickbay.problems import PassiveLoss
from sickbay.tuning.optuna import DiagnosisPruner, watch
from tests.tuning.loops import network, train
from tests.tuning.recording_problems import Listening

STUDY = "shared"
SICK, HEALTHY = 0.0, 0.5  # rates


class Meeting(Listening):
    """Records histories, and needs the other trials."""

    yields_to_the_best = True


def storage(kind: str, address: str) -> BaseStorage:
    """Return a storage as a process opens it."""
    if kind == "journal":
        return JournalStorage(JournalFileBackend(address))
    if kind == "grpc":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return GrpcStorageProxy(host="127.0.0.1", port=int(address))
    return RDBStorage(address)


def close(opened: BaseStorage) -> None:
    """Close the connections of a storage, where it has any."""
    opened.remove_session()
    if isinstance(opened, RDBStorage):
        opened.engine.dispose()


def search(kind: str, address: str, trials: int) -> list[int]:
    """Run some trials, every second one sick; return how many others each of them knew."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    torch.set_num_threads(1)
    met: list[int] = []

    def objective(trial: optuna.Trial) -> float:
        model, optimizer = network(SICK if trial.number % 2 else HEALTHY)
        options: dict[str, Any] = {"profile": "bttackler", "problems": [PassiveLoss(), Meeting()]}
        doctor = watch(trial, model, optimizer, epochs=8, **options)
        try:
            train(doctor, model, optimizer)
        finally:
            met.append(len(doctor._background._known))
        return doctor.result()

    opened = storage(kind, address)
    study = optuna.load_study(study_name=STUDY, storage=opened, pruner=DiagnosisPruner())
    study.optimize(objective, n_trials=trials)
    close(opened)
    return met


def add_trials(kind: str, address: str, losses: list[float], count: int) -> None:
    """Add finished trials with these losses to the study."""
    opened = storage(kind, address)
    study = optuna.load_study(study_name=STUDY, storage=opened)
    course = {"losses": losses, "values": [0.1] * len(losses)}
    for _ in range(count):
        study.add_trial(optuna.create_trial(value=0.1, user_attrs={"sickbay:course": course}))
    close(opened)
