"""What a search is given wrongly gets one clear sentence."""

from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from sickbay.cli import main
from sickbay.errors import UsageError
from sickbay.problems import PassiveLoss
from sickbay.tuning.calibration import calibrate
from sickbay.tuning.load_search import read
from sickbay.tuning.optuna import DiagnosisPruner, watch
from sickbay.tuning.recorded_search import Epoch, RecordedSearch, RecordedTrial
from sickbay.tuning.replay import replay
from sickbay.tuning.threshold_settings import with_settings
from sickbay.vitals import Setup
from tests.tuning.loops import network
from tests.tuning.sample_problems import save_charts, search, trial
from tests.tuning.test_optuna import study

CURVE = [(1.0, 0.5)]
ONE = search(trial("a", [3, 2]))


class Untold:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        (with_settings, (3, []), "problems must be a list of problems, got 3."),
        (with_settings, (["x"], []), "problems must be a list of problems, got one with 'x'."),
        (with_settings, ([PassiveLoss()], "x"), "settings must be a list of strings, got 'x'."),
        (
            with_settings,
            ([PassiveLoss()], [3]),
            "settings must be a list of strings, got one with 3",
        ),
        (
            RecordedSearch,
            ("a", 3, "loss", True),
            "trials must be a list of recorded trials, got 3.",
        ),
        (
            RecordedSearch,
            ("a", [3], "loss", True),
            "trials must be a list of recorded trials, got one",
        ),
        (RecordedSearch, ("a", [], ["loss"], True), "metric must be a string, got ['loss']."),
        (RecordedSearch, ("a", [], "loss", None), "maximize must be True or False, got None."),
        (replay, (3, []), "search must be a RecordedSearch, got 3."),
        (replay, (ONE, "all"), "problems must be a list of problems, got 'all'."),
        (replay, (ONE, [], 3), "tick must be a function, got 3."),
        (calibrate, (ONE, []), "searches must be a list of searches"),
        (calibrate, ([ONE], [Untold()]), "problems must be a list of problems, got one with a Un"),
        (calibrate, ([ONE], [], None), "track must be a function, got None."),
        (read, (None,), "STUDY must be a path, as str or os.PathLike, got None."),
        (read, ("",), "STUDY must be a folder of charts, the address"),
        (read, (".", 3), "metric must be a string, got 3."),
        (read, (".", None, b"up"), "direction must be a string, got b'up'."),
        (read, (".", None, None, [1]), "study must be a string, got [1]."),
        (DiagnosisPruner, (Untold(),), "base must be a pruner of Optuna or None, got a Untold."),
    ],
)
def test_wrong_arguments(
    function: Callable[..., object], given: tuple[Any, ...], expected: str
) -> None:
    with pytest.raises(UsageError) as error:
        function(*given)
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"chart": 3}, "chart must be a path, as str or os.PathLike, got 3."),
        ({"chart": "a\0b"}, "chart must be a path, as str or os.PathLike"),
        ({"learns": ["last"]}, "There is no choice for learns"),
        ({"learns": "penalty", "penalty": 10**400}, "penalty must be a number"),
        ({"direction": Untold()}, "There is no direction 'a Untold'."),
        ({"profile": ["tuning"]}, "There is no profile"),
        ({"problems": [Untold()]}, "There is no problem 'a Untold'."),
        ({"metric": Untold()}, "metric must be a keyword of epoch(), as in 'val_loss'"),
    ],
)
def test_what_watch_cannot_use(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as error:
        watch(study().ask(), *network(0.5), **{"epochs": 3, **options})
    assert str(error.value).startswith(expected)


def test_epochs_may_be_numpy_s() -> None:
    options: dict[str, Any] = {"epochs": np.int64(3)}
    doctor = watch(study().ask(), *network(0.5), **options)
    assert list(doctor.epochs()) == [0, 1, 2]
    doctor.close()


@pytest.mark.parametrize(
    ("diagnosis", "prunes"), [("bad", True), ([1], True), ({}, False), ({"benign": True}, False)]
)
def test_diagnoses_from_elsewhere(diagnosis: Any, prunes: bool) -> None:
    made = optuna.create_study(pruner=DiagnosisPruner())
    asked = made.ask()
    asked.set_user_attr("sickbay:diagnosis", diagnosis)
    assert asked.should_prune() is prunes


def test_what_others_wrote_into_a_study_hinders_no_trial() -> None:
    made = study()
    odd, sound, own = (made.ask() for _ in range(3))
    odd.set_user_attr("sickbay:course", {"losses": 3})
    sound.set_user_attr("sickbay:course", {"losses": [1.0], "values": [0.5]})
    doctor = watch(own, *network(0.5), epochs=2)
    assert doctor._notes is not None
    assert [list(each.losses) for each in doctor._notes.others()] == [[1.0]]
    assert not doctor._notes.troubles
    doctor.close()


HOSTILE = "val[/red]\x1b[31m$\\frac"


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """Charts whose names would do harm to terminals."""
    epochs = [Epoch({HOSTILE: 1.0, "loss": nan}), Epoch({HOSTILE: 0.5, "loss": nan})] * 2
    name = HOSTILE.replace("/", "")
    trials = [RecordedTrial(f"{name}{number}", Setup(epochs=4), epochs) for number in range(30)]
    return save_charts(tmp_path / "[bold]\x1b[2J$x_$", trials, HOSTILE)


@pytest.mark.parametrize("more", [[], ["--trials"], ["--calibrate"]])
def test_names_reach_no_terminal_raw(
    hostile: str, tmp_path: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    plot = ["--plot", str(tmp_path / "saved.svg")]
    settings = ["--profile", "default", "--set", "bad_targets=off"]
    assert main(["replay", hostile, hostile, *settings, *plot, *more]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "[bold]\\x1b[2J$x_$" in printed.out
    if not more:
        assert "val[/red]\\x1b[31m$\\frac, higher is better" in printed.out


def test_names_on_a_progress_bar_are_no_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = f"sqlite:///{tmp_path}/all.db"
    optuna.create_study(storage=storage, study_name="[/red]").ask().report(0.5, 0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    assert main(["replay", storage, "--study", "[/red]"]) == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--json", ""], "--json must be a path"),
        (["--json", "."], "--json must be a writable file, got '.'."),
        (["--json", "/nowhere/at/all"], "The folder of '/nowhere/at/all' does not exist"),
        (["--json", "/dev/full"], "'/dev/full' cannot be written: No space left on device."),
        (["--plot", ""], "--plot must be a path"),
        (["--plot", "/nowhere/at/all.png"], "The folder of '/nowhere/at/all.png' does not exist"),
        (["--plot", "saved.odd"], "--plot must end in one of"),
        (["--metric", ""], "metric must be a string, got ''."),
        (["--set", "\x1b"], "--set must be name.threshold=value or name=off, got '\\x1b'."),
        (["--set", "never_learnt.window=" + "9" * 5000], "window must be"),
    ],
)
def test_what_a_replay_cannot_use(
    options: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_charts(tmp_path / "runs", [trial("a", [3, 2])])
    assert main(["replay", "runs", *options]) == 2
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    assert printed.startswith(f"sickbay: {expected}")
