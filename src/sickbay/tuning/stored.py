"""Trials of a study in an Optuna storage: from their charts, else from what they left there."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sickbay.errors import UsageError, unknown
from sickbay.readings import Setup
from sickbay.tuning.charted import charted
from sickbay.tuning.recorded import Epoch, Recorded

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial

SQLITE = "sqlite:///"
METRIC = "val_accuracy"  # what a trial is watched by unless another is named


def stored(
    storage: str, name: str | None, metric: str | None
) -> tuple[list[Recorded], dict[str, Any]]:
    """Return the trials of a study as they began, and what they are compared by."""
    study = _open(storage, name)
    told = sorted(study.get_trials(deepcopy=False), key=lambda trial: trial.number)
    with_chart = {trial.number: each for trial in told if (each := _charted(trial)) is not None}
    noted = [each.about["metric"] for each in with_chart.values() if "metric" in each.about]
    noted += [each.user_attrs["sickbay:metric"] for each in told if _is_noted(each)]
    own = next(iter(noted), None if with_chart else metric or METRIC)
    plain = [each for each in told if each.number not in with_chart]
    longest = max((len(_courses(trial)[1]) for trial in plain), default=0)
    trials = [
        with_chart.get(each.number) or _plain(each, own or metric or METRIC, longest)
        for each in told
    ]
    about = {"metric": own} if own else {}
    if len(study.directions) == 1:
        about["direction"] = study.direction.name.lower()
    return trials, about


def is_journal(path: Path) -> bool:
    """Tell whether a file can be a journal of Optuna, which is lines of JSON."""
    try:
        with path.open("rb") as file:
            return file.read(1) == b"{"
    except OSError:
        return False


def _open(storage: str, name: str | None) -> Study:
    try:
        import optuna
    except ImportError:
        raise UsageError("A storage needs the package optuna: pip install optuna") from None
    file = storage.removeprefix(SQLITE).partition("?")[0]
    if storage.startswith(SQLITE) and not Path(file).is_file():  # Optuna would make one
        raise UsageError(f"There is no storage {storage!r}; {file!r} is not a file.")
    try:
        opened = storage if "://" in storage else _journal(storage)
        names = optuna.get_all_study_names(opened)
    except Exception as error:  # each storage has errors of its own
        why = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        raise UsageError(f"The storage {storage!r} cannot be read ({why}).") from None
    if name is None and len(names) != 1:
        raise UsageError(f"--study must be one of {sorted(names)} in {storage!r}, got none.")
    if name is not None and name not in names:
        raise unknown(f"study in {storage!r} called", name, names)
    return optuna.load_study(study_name=name or names[0], storage=opened)


def _journal(path: str) -> BaseStorage:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return JournalStorage(JournalFileBackend(path))


def _charted(trial: FrozenTrial) -> Recorded | None:
    try:
        return charted(trial.user_attrs["sickbay:chart"])
    except (KeyError, UsageError):  # it is gone, or on another machine
        return None


def _is_noted(trial: FrozenTrial) -> bool:
    return "sickbay:metric" in trial.user_attrs


def _plain(trial: FrozenTrial, metric: str, longest: int) -> Recorded:
    """Return a trial without tables."""
    losses, values = _courses(trial)
    taken = trial.duration.total_seconds() / max(1, len(values)) if trial.duration else 1.0
    epochs = []
    for index, value in enumerate(values):
        scalars = {"loss": losses[index]} if index < len(losses) else {}
        epochs.append(Epoch({**scalars, metric: value}, seconds=taken))
    setup = Setup(epochs=trial.user_attrs.get("sickbay:epochs", longest))
    course = trial.user_attrs.get("sickbay:course", {})
    steps, first = course.get("steps") or 0, course.get("first")
    return Recorded(
        f"trial-{trial.number}",
        setup,
        epochs,
        first={"loss": first} if steps and first is not None else {},
        steps=max(1, steps // max(1, len(epochs))),
    )


def _courses(trial: FrozenTrial) -> tuple[Sequence[float], Sequence[float]]:
    """Return losses and values by epoch."""
    course = trial.user_attrs.get("sickbay:course")
    if course is None:
        return [], [value for _, value in sorted(trial.intermediate_values.items())]
    losses, values = (
        [nan if value is None else float(value) for value in course[what]]
        for what in ("losses", "values")
    )
    return losses, values
