"""Trials of a study in an Optuna storage: from their charts, else from what they left there."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sickbay.arguments import check_any_float, check_choice, check_int
from sickbay.errors import UsageError
from sickbay.printable import error_summary
from sickbay.safe_files import MAX_BYTES, open_regular_file, read_error
from sickbay.tuning.charted_trials import charted
from sickbay.tuning.recorded_trial import Epoch, Recorded
from sickbay.tuning.trial_json import COURSE, Written
from sickbay.vitals import Setup

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial

PASSWORD = re.compile(r"(://[^/@]*?:)[^/@]*@")  # in the address of a storage
METRIC = "val_accuracy"  # what a trial is watched by unless another is named


def stored(
    storage: str, name: str | None, metric: str | None
) -> tuple[list[Recorded], dict[str, Any], tuple[str, ...]]:
    """Return the trials of a study as they began, what they are compared by, and what is damaged.

    The last says why trials were left out, one by one.
    """
    directions, told = _opened(storage, name)
    with_chart = {each.number: found for each in told if (found := _charted(each)) is not None}
    noted = [each.about.get("metric") for each in with_chart.values()]
    noted += [each.user_attrs.get("sickbay:metric") for each in told]
    texts = (each for each in noted if isinstance(each, str) and each)
    own = next(texts, None if with_chart else metric or METRIC)
    left, damaged = _left([each for each in told if each.number not in with_chart])
    longest = max((len(each.values) for each in left.values()), default=0)
    plain = {
        number: each.recorded(number, own or metric or METRIC, longest)
        for number, each in left.items()
    }
    about = {"metric": own} if own else {}
    if len(directions) == 1:
        about["direction"] = directions[0].name.lower()
    trials = sorted((with_chart | plain).items(), key=lambda item: item[0])
    return [each for _, each in trials], about, damaged


def is_journal(path: Path) -> bool:
    """Tell whether a file can be a journal of Optuna, which is lines of JSON."""
    if not os.path.isfile(path):
        return False
    with open_regular_file(path) as file:
        return file.read(1) == b"{"


def _opened(
    storage: str, name: str | None
) -> tuple[Sequence[StudyDirection], Sequence[FrozenTrial]]:
    """Return the directions of a study, and its trials."""
    try:
        import optuna
    except ImportError:
        raise UsageError("A storage needs the package optuna: pip install optuna") from None
    _check_file(storage)
    try:
        place = storage if "://" in storage else _journal(storage)
        names = optuna.get_all_study_names(place)
        chosen = _chosen(storage, names, name)
        study = optuna.load_study(study_name=chosen, storage=place)
        return study.directions, study.get_trials(deepcopy=False)
    except UsageError:
        raise
    except Exception as error:  # each storage has errors of its own
        address = PASSWORD.sub(r"\1***@", storage)
        raise UsageError(
            f"The storage {address!r} cannot be read ({error_summary(error)})."
        ) from None


def _check_file(storage: str) -> None:
    """Say so if a storage in a file is none: Optuna would make one."""
    kind, _, address = storage.partition("://")
    if address and kind.partition("+")[0] == "sqlite":
        file = address.removeprefix("/").partition("?")[0]
        if not os.path.isfile(file):
            raise UsageError(f"There is no storage {storage!r}; {file!r} is not a file.")
    elif "://" not in storage and os.path.getsize(storage) > MAX_BYTES:
        raise read_error(storage, f"it is larger than {MAX_BYTES:,} bytes")


def _chosen(storage: str, names: Sequence[str], name: str | None) -> str:
    if name is None and len(names) != 1:
        raise UsageError(f"--study must be one of {sorted(names)} in {storage!r}, got none.")
    return names[0] if name is None else check_choice(f"study in {storage!r} called", name, names)


def _journal(path: str) -> BaseStorage:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return JournalStorage(JournalFileBackend(path))


def _charted(trial: FrozenTrial) -> Recorded | None:
    try:
        return charted(trial.user_attrs["sickbay:chart"])
    except (KeyError, UsageError):  # it is gone, or on another machine
        return None


@dataclass(frozen=True)
class _Told:
    """What a trial has left in the storage, without tables."""

    losses: Sequence[float]
    values: Sequence[float]
    epochs: int | None  # planned
    first: float | None
    steps: int
    seconds: float

    def recorded(self, number: int, metric: str, longest: int) -> Recorded:
        taken = self.seconds / max(1, len(self.values)) if self.seconds else 1.0
        epochs = []
        for index, value in enumerate(self.values):
            scalars = {"loss": self.losses[index]} if index < len(self.losses) else {}
            epochs.append(Epoch({**scalars, metric: value}, seconds=taken))
        return Recorded(
            f"trial-{number}",
            Setup(epochs=longest if self.epochs is None else self.epochs),
            epochs,
            first={"loss": self.first} if self.steps and self.first is not None else {},
            steps=max(1, self.steps // max(1, len(epochs))),
        )


def _left(trials: Sequence[FrozenTrial]) -> tuple[dict[int, _Told], tuple[str, ...]]:
    """Return what each trial has left, by number, and why others are damaged."""
    left: dict[int, _Told] = {}
    damaged = []
    for each in trials:
        try:
            left[each.number] = _told(each)
        except UsageError as error:
            damaged.append(f"trial {each.number}: {error}")
    return left, tuple(damaged)


def _told(trial: FrozenTrial) -> _Told:
    """Return what a trial has left; a `UsageError` if that is damaged."""
    known = trial.user_attrs
    epochs = known.get("sickbay:epochs")
    if epochs is not None:
        epochs = check_int("sickbay:epochs", epochs, least=1)
    seconds = max(0.0, trial.duration.total_seconds()) if trial.duration else 0.0
    if COURSE not in known:
        return _Told([], _reported(trial), epochs, None, 0, seconds)
    course = Written.of(known)
    steps = check_int("steps", course.steps or 0, least=0)
    return _Told(*course.numbers(), epochs, course.first, steps, seconds)


def _reported(trial: FrozenTrial) -> list[float]:
    """Return the values that were reported, by step."""
    reported = trial.intermediate_values
    steps = sorted(check_int("step", each, least=0) for each in reported)
    return [check_any_float("value", reported[step]) for step in steps]
