"""Load the trials of an Optuna study: from their charts, else from their attributes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sickbay.arguments import check_any_float, check_choice, check_int
from sickbay.chart import Chart
from sickbay.errors import UsageError
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.printable import error_summary
from sickbay.safe_files import MAX_BYTES, open_regular_file, read_error
from sickbay.tuning.charted_trials import load_chart
from sickbay.tuning.recorded_search import DEFAULT_METRIC, Epoch, RecordedTrial
from sickbay.vitals import Setup

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial

CURVE = "sickbay:course"  # the attribute that holds the learning curve, by its old name
PASSWORD = re.compile(r"(://[^/@]*?:)[^/@]*@")  # in the address of a storage


def load_study(
    storage: str, name: str | None, metric: str | None
) -> tuple[list[RecordedTrial], dict[str, Any], list[str]]:
    """Return a study's trials in starting order, its metric and direction, and what is damaged.

    The last are sentences, one for each trial that was skipped.
    """
    directions, stored = _read_study(storage, name)
    trials = {each.number: trial for each in stored if (trial := _charted(each)) is not None}
    noted = [each.about.get("metric") for each in trials.values()]
    noted += [each.user_attrs.get("sickbay:metric") for each in stored]
    texts = (each for each in noted if isinstance(each, str) and each)
    own = next(texts, None if trials else metric or DEFAULT_METRIC)
    curves, damaged = [], []
    for each in stored:
        try:
            if each.number not in trials:
                curves.append((each, *_curve(each)))
        except UsageError as error:
            damaged.append(f"trial {each.number}: {error}")
    longest = max((len(curve.values) for _, curve, _ in curves), default=0)
    for each, curve, epochs in curves:
        used = own or metric or DEFAULT_METRIC
        trials[each.number] = _trial(each, curve, used, epochs or longest)
    about = {"metric": own} if own else {}
    if len(directions) == 1:
        about["direction"] = directions[0].name.lower()
    return [trials[number] for number in sorted(trials)], about, damaged


def is_journal(path: Path) -> bool:
    """Return whether a file may be an Optuna journal, which consists of JSON objects."""
    if not os.path.isfile(path):
        return False
    with open_regular_file(path) as file:
        return file.read(1) == b"{"


def _read_study(
    storage: str, name: str | None
) -> tuple[Sequence[StudyDirection], Sequence[FrozenTrial]]:
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise UsageError("A storage needs the package optuna: pip install optuna") from None
    _check_file(storage)
    try:
        place: str | BaseStorage = storage
        if "://" not in storage:
            place = JournalStorage(JournalFileBackend(storage))
        names = optuna.get_all_study_names(place)
        if name is None and len(names) != 1:
            raise UsageError(f"--study must be one of {sorted(names)} in {storage!r}, got none.")
        name = names[0] if name is None else name
        check_choice(f"study in {storage!r} called", name, names)
        study = optuna.load_study(study_name=name, storage=place)
        return study.directions, study.get_trials(deepcopy=False)
    except UsageError:
        raise
    except Exception as error:  # every storage raises its own kinds
        address, why = PASSWORD.sub(r"\1***@", storage), error_summary(error)
        raise UsageError(f"The storage {address!r} cannot be read ({why}).") from None


def _check_file(storage: str) -> None:
    """Raise `UsageError` for a missing database file, which Optuna would create, or a huge one."""
    kind, _, address = storage.partition("://")
    if address and kind.partition("+")[0] == "sqlite":
        file = address.removeprefix("/").partition("?")[0]
        if not os.path.isfile(file):
            raise UsageError(f"There is no storage {storage!r}; {file!r} is not a file.")
    elif "://" not in storage and os.path.getsize(storage) > MAX_BYTES:
        raise read_error(storage, f"it is larger than {MAX_BYTES:,} bytes")


def _charted(trial: FrozenTrial) -> RecordedTrial | None:
    try:
        return load_chart(Chart.open(trial.user_attrs["sickbay:chart"]))
    except (KeyError, UsageError):  # there is none, it was deleted, or it is on another machine
        return None


def _curve(trial: FrozenTrial) -> tuple[StoredCurve, int | None]:
    """Return the stored curve and the number of planned epochs, if known.

    For a trial that was not watched, the curve consists of the values it reported.
    """
    if CURVE in trial.user_attrs:
        curve = StoredCurve.of(trial.user_attrs)
        check_int("steps", curve.steps or 0, least=0)
    else:
        reported = trial.intermediate_values
        order = sorted(check_int("step", each, least=0) for each in reported)
        values = tuple(check_any_float("value", reported[step]) for step in order)
        curve = StoredCurve((), values)
    epochs = trial.user_attrs.get("sickbay:epochs")
    return curve, None if epochs is None else check_int("sickbay:epochs", epochs, least=1)


def _trial(trial: FrozenTrial, curve: StoredCurve, metric: str, planned: int) -> RecordedTrial:
    losses, values = curve.numbers()
    seconds = trial.duration.total_seconds() if trial.duration else 0.0
    seconds = seconds / max(1, len(values)) if seconds > 0 else 1.0
    epochs = []
    for index, value in enumerate(values):
        scalars = {"loss": losses[index]} if index < len(losses) else {}
        epochs.append(Epoch({**scalars, metric: value}, seconds=seconds))
    return RecordedTrial(
        f"trial-{trial.number}",
        Setup(epochs=planned),
        epochs,
        first={"loss": curve.first} if curve.steps and curve.first is not None else {},
        steps=max(1, (curve.steps or 0) // max(1, len(epochs))),
    )


@dataclass(frozen=True)
class StoredCurve:
    """A learning curve as stored: numbers that were not finite are None."""

    losses: tuple[float | None, ...]
    values: tuple[float | None, ...]
    first: float | None = None
    steps: int | None = None

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> StoredCurve:
        """Read the curve from a trial's attributes. Raise `UsageError` if it is malformed.

        >>> StoredCurve.of({CURVE: {"losses": [0.5], "values": [0.9, None]}}).numbers()
        ([0.5], [0.9, nan])
        """
        return dataclass_from_json(cls, json_object(CURVE, attributes.get(CURVE)))

    def numbers(self) -> tuple[list[float], list[float]]:
        """Return the losses and values by epoch, with NaN for None."""
        losses = [nan if each is None else each for each in self.losses]
        return losses, [nan if each is None else each for each in self.values]
