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
from tests.repairs.own_module import MODULE

pytestmark = pytest.mark.usefixtures("own_module")
COMMAND = [sys.executable, "-m", "sickbay", "fit"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def fitted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the outcome of a command, with its exit code."""
    code = main(["fit", *arguments, "--json", "--quiet"])
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {**outcome, "code": code}


def test_a_healthy_model_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "mine:healthy"]) == 0
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
    outcome = fitted(capsys, "mine:healthy", "--save", "best.pt")
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
    config, short = tmp_path / "fit.json", {"epochs": 3, "metric": "loss", "remedies": []}
    config.write_text(json.dumps({**short, "target": -9}))
    outcome = fitted(capsys, "mine:healthy", "--config", "fit.json")
    assert (outcome["epochs"], outcome["score"] < 0) == (1, True)
    config.write_text(json.dumps(short))
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
    ran = [*COMMAND, "mine:healthy", "--target", "0.1", "--workers", "2", "--json", "--quiet"]
    done = subprocess.run(ran, env=environment(), cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["epochs"] == 1
