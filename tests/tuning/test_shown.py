"""What the documentation and the examples show is what happens."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import torch

from tests.tuning.loops import BATCHES, accuracy, network

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "tuning.md").read_text(encoding="utf-8")


def run(example: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / example)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_search_with_optuna_saves_epochs_and_finds_a_good_one() -> None:
    shown = run("tune_optuna.py")
    assert "  pruned  " in shown
    trained, planned = re.findall(r"^(\d+) of (\d+) epochs were trained$", shown, re.MULTILINE)[0]
    assert int(trained) < int(planned)
    best = re.findall(r"^best: ([\d.]+) ", shown, re.MULTILINE)[0]
    assert float(best) > 0.8


def test_the_page_s_search_with_ray_can_be_made(tmp_path: Path) -> None:
    block = re.findall(r"```python\n(from ray.*?)```", PAGE, re.DOTALL)[0]
    names: dict[str, Any] = {}
    stop = "stop=DiagnosisStopper()"
    assert stop in block
    exec(block.replace(stop, f"{stop}, storage_path={str(tmp_path)!r}"), names)
    assert names["tuner"]


def test_the_code_of_the_page_runs() -> None:
    block = re.findall(r"```python\n(import optuna.*?)```", PAGE, re.DOTALL)[0]
    names: dict[str, Any] = {
        "make": lambda trial: network(trial.suggest_float("rate", 0, 1)),
        "batches": BATCHES,
        "criterion": torch.nn.CrossEntropyLoss(),
        "evaluate": accuracy,
    }
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    exec(block.replace("n_trials=100", "n_trials=2"), names)
    assert len(names["study"].trials) == 2
