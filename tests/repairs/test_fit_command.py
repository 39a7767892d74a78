"""`sickbay fit` trains what a function returns, and tells by its exit code how it went."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import sickbay
from sickbay.cli import main
from sickbay.demo.flawed_models import circles, layers
from sickbay.repairs.config import SETTINGS

MODULE = """
import torch
from torch import nn
from sickbay.demo.flawed_models import circles, layers

def made(model, **more):
    print("made")
    return {
        "model": model,
        "data": circles(512),
        "validation": circles(256, seed=1),
        "loss": nn.BCEWithLogitsLoss(),
        "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3),
        "batch_size": 64,
        "epochs": 20,
        **more,
    }

def healthy(): return made(layers(2, 32, 32, 1, gain=2.4))
def sick(): return made(layers(2, *[32] * 9, 1, hidden=nn.Sigmoid))
def hopeless(): return {**sick(), "remedies": ["warm_up"], "epochs": 2, "target": 0.999}
def scheduled():
    parts = healthy()
    return {**parts, "scheduler": torch.optim.lr_scheduler.StepLR(parts["optimizer"], 5)}
def stopped(): return {**healthy(), "callbacks": [lambda ended: ended.epoch == 1]}
def slow():
    import time
    return {**healthy(), "callbacks": [lambda _: time.sleep(0.2)], "epochs": 30}
def typo(): return {**healthy(), "epoch": 3}
def partly(): return {"model": layers(2, 1)}
def number(): return 7
def raises(): raise KeyError("mine")
class Fragile(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, x):
        if self.training and torch.is_grad_enabled(): raise IndexError("out of range")
        return self.layer(x)
def fragile(): return made(Fragile())
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


COMMAND = [sys.executable, "-m", "sickbay", "fit"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def fitted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the outcome of a command, with its exit code."""
    code = main(["fit", *arguments, "--json", "--quiet"])
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {**outcome, "code": code}


def test_a_healthy_model_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "mine:healthy", "--epochs", "4"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("healthy: score ")
    assert "0  as given: score" in printed.out
    assert "made" in printed.err  # what the user's code prints does not spoil the output


def test_a_sick_model_is_repaired_and_recorded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = fitted(capsys, "mine:sick", "--chart", "run", "--save", "best.pt")
    assert (outcome["code"], outcome["solved"]) == (0, True)
    assert outcome["findings"][0]["problem"] == "vanishing_gradient"
    assert outcome["chart"] == str(tmp_path / "run")
    for attempt in outcome["attempts"]:
        assert sickbay.Chart.open(tmp_path / "run" / f"attempt-{attempt['number']}")
    assert outcome["weights"] == str(tmp_path / "best.pt")
    weights = torch.load(tmp_path / "best.pt", weights_only=True)
    kept = json.loads((tmp_path / "run" / "outcome.json").read_text())
    assert kept["score"] == outcome["score"] > 0.95
    assert all(isinstance(each, torch.Tensor) for each in weights.values())


def test_the_saved_weights_are_those_of_the_best_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    outcome = fitted(capsys, "mine:healthy", "--epochs", "5", "--save", "best.pt")
    model = layers(2, 32, 32, 1, gain=2.4)
    model.load_state_dict(torch.load(tmp_path / "best.pt", weights_only=True))
    points, labels = circles(256, seed=1)
    right = (model.eval()(points) > 0) == (labels > 0)
    assert float(right.double().mean()) == outcome["score"]


def test_what_cannot_be_solved(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = fitted(capsys, "mine:hopeless")
    assert (outcome["code"], outcome["solved"]) == (1, False)


def test_what_cannot_be_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "mine:fragile", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == (
        "sickbay: The model as given could not be trained: out of range."
    )
    assert not printed.out


def test_the_function_may_give_any_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert fitted(capsys, "mine:scheduled", "--epochs", "2")["epochs"] == 2
    assert fitted(capsys, "mine:stopped")["epochs"] == 2


def test_options_beat_the_config_and_that_beats_the_function(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "fit.json"
    config.write_text(json.dumps({"epochs": 3, "metric": "loss", "target": -9}))
    outcome = fitted(capsys, "mine:healthy", "--config", "fit.json")
    assert (outcome["epochs"], outcome["score"] < 0) == (1, True)
    config.write_text(json.dumps({"epochs": 3, "metric": "loss"}))
    assert fitted(capsys, "mine:healthy", "--config", "fit.json")["epochs"] == 3
    chosen = fitted(
        capsys, "mine:healthy", "--config", "fit.json", "--epochs", "2", "--metric", "f1"
    )
    assert (chosen["epochs"], chosen["score"] > 0) == (2, True)


def test_a_config_names_remedies_with_their_settings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    remedies = [{"name": "replace_activation", "to": "elu"}, "warm_up"]
    (tmp_path / "fit.json").write_text(json.dumps({"remedies": remedies, "epochs": 10}))
    outcome = fitted(capsys, "mine:sick", "--config", "fit.json")
    tried = {each["remedy"] for each in outcome["attempts"]}
    assert "replace_activation to=elu" in tried
    assert all("elu" in each or not each or "warm_up" in each for each in tried)


def test_an_interrupted_repair_is_resumed(tmp_path: Path) -> None:
    ran, env = [*COMMAND, "mine:slow"], environment()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "other").touch()  # so that the folder has another name
    folder = tmp_path / "run-2"
    with subprocess.Popen(
        [*ran, "--chart", "run", "--quiet"],
        env=env,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            deadline = time.monotonic() + 60
            while not (folder / "attempt-0").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 130
    assert said.splitlines()[-1] == (
        f"sickbay: interrupted. It is recorded in {folder}; to go on, run the same command with "
        f"--chart {folder} --resume."
    )
    (tmp_path / "mine.py").write_text(MODULE.replace("time.sleep(0.2)", "None"))
    again = [*ran, "--chart", str(folder), "--resume", "--json"]
    done = subprocess.run(again, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "there is no repair" not in done.stderr
    assert json.loads(done.stdout)["epochs"] == 30


def test_a_finished_repair_is_resumed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    common = "mine:healthy", "--epochs", "2", "--chart", "run"
    first = fitted(capsys, *common)
    again = fitted(capsys, *common, "--resume")
    assert (again["score"], again["chart"]) == (first["score"], first["chart"])


def test_it_trains_in_processes(tmp_path: Path) -> None:
    ran = [*COMMAND, "mine:healthy", "--epochs", "1", "--workers", "2", "--json", "--quiet"]
    done = subprocess.run(ran, env=environment(), cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["epochs"] == 1


CONFIGS = {
    "a-list": ("[1]", "The config '{}' must be a JSON object, got [1]."),
    "no-json": ("{", "'{}' cannot be read: it is not JSON"),
    "unknown": ('{"epoch": 3}', "There is no setting in '{}' 'epoch'; did you mean 'epochs'?"),
    "an-object": ('{"loss": 3}', "'loss' must come from the function, got it in '{}'."),
    "a-wrong-value": ('{"epochs": "3"}', "epochs must be a whole number of at least 1, got '3'."),
    "nan": ('{"target": NaN}', "target must be a number, got nan."),
    "no-remedy": ('{"remedies": [{"name": "x"}]}', "There is no remedy 'x'."),
    "a-remedy-without-a-name": ('{"remedies": [{"to": "x"}]}', "There is no remedy 'None'."),
    "a-setting-of-a-remedy": (
        '{"remedies": [{"name": "clip_norm", "limits": 2}]}',
        "There is no setting of clip_norm 'limits'; did you mean 'limit'?",
    ),
    "a-value-of-a-remedy": (
        '{"remedies": [{"name": "clip_norm", "limit": -2}]}',
        "limit must be ",
    ),
    "resume-alone": ('{"resume": true}', "--resume needs the folder of the repair to continue"),
    "resume-is-a-number": ('{"resume": 1}', "resume must be True or False, got 1."),
}


@pytest.mark.parametrize(("text", "said"), CONFIGS.values(), ids=CONFIGS)
def test_configs_that_are_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "fit.json"
    config.write_text(text)
    assert main(["fit", "mine:healthy", "--config", str(config)]) == 2
    printed = capsys.readouterr()
    assert said.format(config) in printed.err.splitlines()[-1]
    assert not printed.out


def test_an_unknown_setting_lists_what_is_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fit.json").write_text('{"lr": 3}')
    main(["fit", "mine:healthy", "--config", "fit.json"])
    printed = capsys.readouterr().err
    assert all(repr(name) in printed for name in SETTINGS)
    assert "'model'" not in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine:number"], "mine:number must return a dict with model, data, loss and optimizer"),
        (["mine:partly"], "and any other argument of sickbay.fit; got ['model']."),
        (["mine:typo"], "There is no argument of fit 'epoch'; did you mean 'epochs'?"),
        (["mine:raises"], "mine:raises raised KeyError: 'mine' (at "),
        (["mine:nothing"], "There is no name in mine 'nothing'."),
        (["mine"], "A function must be named as package.module:function, got 'mine'."),
        (["mine:healthy", "--epochs", "0"], "epochs must be a whole number of at least 1, got 0."),
        (["mine:healthy", "--metric", "x"], "There is no metric 'x'. Possible: 'accuracy'"),
        (["mine:healthy", "--strategy", "x"], "There is no strategy 'x'"),
        (["mine:healthy", "--profile", "x"], "There is no profile 'x'"),
        (["mine:healthy", "--remedies", "x,warm_up"], "There is no remedy 'x'"),
        (["mine:healthy", "--workers", "0"], "workers must be a number from 1 on"),
        (["mine:healthy", "--workers", "x"], "workers must be a number from 1 on"),
        (["mine:healthy", "--device", "x"], "device must be one that torch can use here"),
        (["mine:healthy", "--resume"], "--resume needs the folder"),
        (["mine:healthy", "--save", "."], "--save must be a file, got the folder "),
        (["mine:healthy", "--save", "no/such/file"], "cannot be written: No such file"),
        (["mine:healthy", "--save", ""], "--save must be a path"),
        (["mine:healthy", "--chart", "mine.py"], "chart must be a folder to write in, got "),
        (["mine:healthy", "--config", "none.json"], "none.json' cannot be read: No such file"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_wrong_arguments_get_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", *arguments]) == 2
    printed = capsys.readouterr()
    assert said in printed.err.splitlines()[-1]
    assert printed.err.splitlines()[-1].startswith("sickbay: ")
    assert not printed.out


def test_every_option_is_a_setting_or_about_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    help_ = capsys.readouterr().out
    named = {word.strip(",") for word in help_.split() if word.startswith("--")}
    known = {f"--{name.replace('_', '-')}" for name in SETTINGS}
    assert named - known == {"--help", "--config", "--save", "--json", "--quiet"}
