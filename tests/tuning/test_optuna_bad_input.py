"""What Optuna's `watch` is given wrongly gets one clear sentence, and no trial is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

import sickbay
from sickbay.tuning.optuna import watch
from tests.tuning.loops import network
from tests.tuning.test_optuna import objective, study


def several() -> optuna.Trial:
    return optuna.create_study(directions=["maximize", "minimize"]).ask()


def finished() -> optuna.Trial:
    made = study()
    trial = made.ask()
    made.tell(trial, 0.5)
    return trial


def deleted() -> optuna.Trial:
    storage = optuna.storages.InMemoryStorage()
    trial = study(storage=storage, study_name="gone").ask()
    optuna.delete_study(study_name="gone", storage=storage)
    return trial


@pytest.mark.parametrize(
    ("trial", "options", "expected"),
    [
        (lambda: "trial", {}, "trial must be a trial of Optuna, got str."),
        (finished, {}, "trial must be one of a running study, got trial 0, which is not running"),
        (deleted, {}, "trial must be one of a running study, got trial 0, which is not there"),
        (several, {}, "direction must be 'maximize' or 'minimize' in a study of several"),
        (
            several,
            {"direction": "maximize", "learns": "penalty"},
            "learns must be 'last' or 'constraint' in a study of several objectives, got 'penalty'",
        ),
        (
            lambda: optuna.trial.FixedTrial({}),
            {},
            "direction must be 'maximize' or 'minimize' with a FixedTrial, which belongs to no",
        ),
        (None, {"direction": "up"}, "There is no direction 'up'. Possible: 'maximize', 'minimize'"),
        (
            None,
            {"direction": "minimize"},
            "direction must be that of the study, 'maximize', as the metric is reported to it, got",
        ),
        (None, {"learns": "lots"}, "There is no choice for learns 'lots'"),
        (None, {"penalty": 1.0}, "penalty must be None unless learns='penalty', got 1.0."),
        (None, {"learns": "penalty", "penalty": float("nan")}, "penalty must be a finite number"),
        (None, {"epochs": 0}, "epochs must be a whole number of at least 1, got 0."),
        (None, {"epochs": None}, "epochs must be a whole number of at least 1, got None."),
        (None, {"metric": 3}, "metric must be a keyword of epoch()"),
        (None, {"profile": "no"}, "There is no profile 'no'"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(trial: Any, options: Any, expected: str) -> None:
    given = study().ask() if trial is None else trial()
    with pytest.raises(sickbay.UsageError) as error:
        watch(given, *network(0.5), **{"epochs": 8, "profile": "bttackler", **options})
    assert str(error.value).startswith(expected)


def test_what_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    made = study()
    with pytest.raises(sickbay.UsageError, match="model must be"):
        watch(made.ask(), "model", epochs=8, chart=tmp_path / "runs")  # type: ignore[arg-type]
    assert not made.trials[0].user_attrs
    with pytest.raises(sickbay.UsageError, match="not running any more"):
        watch(finished(), *network(0.5), epochs=8, chart=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_metric_that_is_never_given_is_said_and_then_refused_as_a_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(sickbay.UsageError) as error:
        objective(study().ask(), metric="val_f1")
    assert str(error.value) == "val_f1 must be given to epoch() for there to be a result."
    said = capsys.readouterr().err
    assert said.count("epoch() should be given val_f1, got val_accuracy.") == 1


def test_a_study_that_probably_has_the_wrong_direction_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watch(study(direction="minimize").ask(), *network(0.5), epochs=8, profile="bttackler")
    assert "the study minimizes val_accuracy; see `direction`" in capsys.readouterr().err
    watch(study().ask(), *network(0.5), epochs=8, profile="bttackler", metric="val_loss")
    assert "the study maximizes val_loss; see `direction`" in capsys.readouterr().err


def test_without_optuna_the_error_names_the_package() -> None:
    code = (
        "import sys; sys.modules['optuna'] = None\n"
        "import importlib.util; found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'optuna' else found(n, *a)\n"
        "import sickbay; sickbay.tuning.optuna"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: sickbay.tuning.optuna needs the package optuna: "
        "pip install 'sickbay[optuna]'."
    )
