import json
import subprocess
import sys
from pathlib import Path

import pytest

from sickbay.cli import main
from sickbay.problems.profiles import PROFILES
from tests.tuning.sample_problems import save_charts, trial


@pytest.fixture
def charts(tmp_path: Path) -> str:
    """Fifty trials of ten epochs; every other one stands still, and the best of them too."""
    trials = []
    for number in range(50):
        falling = [2.0 - 0.01 * number - 0.1 * epoch for epoch in range(10)]
        losses = [2.25] * 10 if number % 2 else falling  # the mean of 2.25 is exact
        values = [0.01 * number] * 10 if number != 49 else [0.99] * 10
        trials.append(trial(f"trial-{number}", losses, values))
    return save_charts(tmp_path / "task", trials, "score")


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_table_of_the_indicators(charts: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", charts, "--profile", "bttackler"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("task: 50 trials, 8 minutes; score, higher is better; profile bttackler")
    rows = words(out)
    # 25 trials that save 7 of 10 seconds each; of the ten best five, of the five best three.
    assert ["passive_loss", "25", "0", "3", "35.0%", "5", "3"] in rows
    assert ["all", "together", "25", "0", "3", "35.0%", "5", "3"] in rows
    assert ["no_more_gain", "0", "0", "0.0%", "0", "0"] in rows
    assert "25 ended, all together, the best 10 of them; --trials lists all:" in out
    best = next(row for row in rows if row[:2] == ["trial-49", "1"])
    assert best == ["trial-49", "1", "0.99", "0.99", "3", "best", "10", "passive_loss"]
    assert sum(row[:1] == ["trial-47"] for row in rows) == 1
    assert not any(row[:1] == ["trial-1"] for row in rows)
    assert max(map(len, out.splitlines())) <= 80
    assert "because" not in out  # there is no room


def test_every_trial_of_every_indicator(charts: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", charts, "--profile", "bttackler", "--trials"]) == 0
    out = capsys.readouterr().out
    assert "25 ended, passive_loss:" in out
    assert "25 ended, all together:" in out
    assert sum(row[:1] == ["trial-1"] for row in words(out)) == 2


def test_why_is_told_where_there_is_room(
    charts: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert main(["replay", charts, "--profile", "bttackler"]) == 0
    assert "passive_loss  loss varied by 0 of its mean" in capsys.readouterr().out


def test_thresholds_are_set(charts: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--set", "passive_loss.epochs=4", "--set", "no_more_gain=off"]
    assert main(["replay", charts, "--profile", "bttackler", *settings]) == 0
    out = capsys.readouterr().out
    assert ["passive_loss", "25", "0", "4", "30.0%", "5", "3"] in words(out)
    assert "no_more_gain" not in out


def test_metric_and_direction_are_given(charts: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--profile", "bttackler", "--metric", "loss", "--direction", "maximize"]
    assert main(["replay", charts, *arguments]) == 0
    out = capsys.readouterr().out
    assert "loss, higher is better" in out
    assert ["passive_loss", "25", "0", "3", "35.0%", "10", "5"] in words(out)


def test_it_is_written_as_json(charts: str, tmp_path: Path) -> None:
    file = tmp_path / "told.json"
    assert main(["replay", charts, charts, "--profile", "bttackler", "--json", str(file)]) == 0
    told = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert [each["search"] for each in told] == ["task", "task"]
    one = told[0]
    assert (one["trials"], one["metric"], one["direction"]) == (50, "score", "maximize")
    assert len(one["indicators"]) == 7
    assert one["together"]["saved"] == pytest.approx(0.35)
    ended = one["together"]["ended"][-1]
    assert (ended["trial"], ended["epoch"], ended["place"]) == ("trial-49", 3, 1)
    assert (ended["problem"], ended["lost_of_ten"], ended["benign"]) == (
        "passive_loss",
        True,
        False,
    )
    assert (ended["seconds_saved"], ended["reached"]) == (7.0, pytest.approx(0.99))


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    lost = trial("lost", [2.3] * 10, [float("nan")] * 10)
    source = save_charts(tmp_path / "task", [lost, trial("b", [2.0, 1.0])])
    file = tmp_path / "told.json"
    arguments = ["--profile", "bttackler", "--metric", "score", "--json", str(file)]
    assert main(["replay", source, *arguments]) == 0
    (told,) = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert told["together"]["ended"][0]["reached"] is None


@pytest.mark.parametrize(("count", "expected"), [(39, True), (40, False)])
def test_few_trials_are_told_of(
    count: int, expected: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = save_charts(tmp_path / "task", [trial(f"{n}", [2.0, 1.0]) for n in range(count)])
    assert main(["replay", source]) == 0
    assert (
        "With so few trials, not all of the ten best are good" in capsys.readouterr().out
    ) is expected


@pytest.mark.parametrize(("epochs", "expected"), [(5, True), (2, False)])
def test_trials_that_were_ended_before_are_told_of(
    epochs: int, expected: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = trial("a", [2.0, 1.0], epochs=epochs)
    source = save_charts(tmp_path / "task", [ended, trial("b", [2.0, 1.0])])
    assert main(["replay", source]) == 0
    assert ("1 of them did not run all their epochs" in capsys.readouterr().out) is expected


def test_calibrating(charts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "told.json"
    arguments = ["--profile", "bttackler", "--calibrate", "--json", str(file)]
    assert main(["replay", charts, *arguments]) == 0
    out = capsys.readouterr().out
    assert "Profile bttackler, calibrated on task: time saved, and good trials lost" in out
    rows = words(out)
    lost = ["5", "of", "10,", "3", "of", "5"]
    assert ["none", "50", "35.0%", *lost, "0.0%", "0", "of", "10,", "0", "of", "5"] in rows
    # It is judged in the first five epochs only; with 6 it is next to where good ones are lost.
    assert "Calibrated on all: --set passive_loss.epochs=7" in out
    told = json.loads(file.read_text())
    assert told["settings"] == ["passive_loss.epochs=7"]
    assert [fold["trials"] for fold in told["folds"]] == [10] * 5
    assert told["before"]["lost_of_ten"] == 5
    assert max(map(len, out.split("\n\n")[1].splitlines())) <= 80


def test_settings_that_do_not_carry_over_are_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = []
    still, hardly, well = [2.3] * 10, [2.3004, 2.3012] * 5, [2.0, 1.0] * 5
    for name, high in (("easy", 0.1), ("hard", 0.9)):  # what those reach that hardly move
        kinds = [(still, 0.0)] * 20 + [(hardly, high)] * 10 + [(well, 0.5)] * 20
        trials = [
            trial(str(each), losses, [value] * 10) for each, (losses, value) in enumerate(kinds)
        ]
        sources.append(save_charts(tmp_path / name, trials, "score"))
    arguments = ["--profile", "bttackler", "--set", "no_more_gain=off", "--calibrate"]
    assert main(["replay", *sources, *arguments]) == 0
    out = capsys.readouterr().out
    hard = next(row for row in words(out) if row[:2] == ["2:", "hard"])
    assert hard[-6:] == ["10", "of", "10,", "5", "of", "5"]
    assert "Calibrated on all: --set passive_loss.epochs=2\n" in out
    assert "The parts left out lost good trials: do not rely on it for other searches." in out


def test_no_indicator_at_all(charts: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = [problem.name() for problem in PROFILES["bttackler"]]
    off = [part for name in names for part in ("--set", f"{name}=off")]
    assert main(["replay", charts, "--profile", "bttackler", *off]) == 0
    assert ["all", "together", "0", "0", "0.0%", "0", "0"] in words(capsys.readouterr().out)


@pytest.mark.parametrize("more", [[], ["--calibrate"]])
def test_it_is_drawn(charts: str, tmp_path: Path, more: list[str]) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "told.png"
    assert main(["replay", charts, "--profile", "bttackler", "--plot", str(file), *more]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--profile", "tunning"], "There is no profile 'tunning'; did you mean 'tuning'?"),
        (["--set", "passive_loss.spread"], "--set must be name.threshold=value"),
        (["--set", "nothing.limit=3"], "There is no problem among these called 'nothing'"),
        (["--metric", "val_loss"], "There is no metric in 'task' called 'val_loss'"),
        (["--direction", "up"], "There is no direction 'up'"),
        (
            ["--json", "no/such/folder/x.json"],
            "The folder of 'no/such/folder/x.json' does not exist",
        ),
        (["no_such_study"], "STUDY must be a folder of charts, the address of an Optuna storage"),
    ],
)
def test_wrong_arguments_get_one_sentence(
    charts: str, arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", charts, *arguments]) == 2
    printed = capsys.readouterr().err
    assert expected in printed
    assert printed.count("\n") == 1


def test_a_plot_of_a_kind_that_there_is_not(
    charts: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert main(["replay", charts, "--plot", "x.doc"]) == 2
    assert "--plot must end in one of" in capsys.readouterr().err


def test_without_matplotlib(
    charts: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sickbay.reports.plots.find_spec", lambda _: None)
    assert main(["replay", charts, "--plot", "x.png"]) == 2
    assert "--plot needs the package matplotlib: pip install matplotlib" in capsys.readouterr().err


def test_too_few_trials_to_calibrate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = save_charts(tmp_path / "task", [trial("a", [1.0, 0.5])])
    assert main(["replay", source, "--calibrate"]) == 2
    assert "Calibration needs at least 50 trials" in capsys.readouterr().err


def test_torch_is_not_loaded(charts: str) -> None:
    code = f"from sickbay.cli import main; import sys; main(['replay', {charts!r}]); "
    code += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"
