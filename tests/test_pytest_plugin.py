import os
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = """
import torch
from torch import nn

torch.manual_seed(0)
BATCH = torch.randn(32, 4), torch.arange(32) % 3
SOUND = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
"""


def run(folder: Path, test: str) -> subprocess.CompletedProcess[str]:
    """Run one test in a pytest of its own, with only this plugin."""
    (folder / "test_model.py").write_text(f"{MODEL}\n\ndef test_model(checkup):\n    {test}\n")
    command = [sys.executable, "-m", "pytest", "-p", "sickbay.pytest_plugin", "-rP", "--tb=short"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True)


def test_a_sound_model_passes_and_the_report_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path, "checkup(SOUND, BATCH, nn.CrossEntropyLoss())")
    assert done.returncode == 0, done.stdout
    assert "✓ overfits one batch" in done.stdout


def test_a_failure_fails_the_test_with_the_report_alone(tmp_path: Path) -> None:
    twice = "nn.Sequential(SOUND, nn.Softmax(-1))"
    done = run(tmp_path, f"checkup({twice}, BATCH, nn.CrossEntropyLoss())")
    assert done.returncode == 1
    assert "✖ output fits the loss: softmax before cross_entropy" in done.stdout
    assert "pytest_plugin.py" not in done.stdout  # no traceback of ours


@pytest.mark.parametrize(("fail_on", "code"), [("critical", 0), ("warning", 1)])
def test_warnings_fail_only_on_request(tmp_path: Path, fail_on: str, code: int) -> None:
    batch = "(1000 * BATCH[0], BATCH[1])"
    call = f'checkup(SOUND, {batch}, tests="inputs_are_sane", fail_on="{fail_on}")'
    assert run(tmp_path, call).returncode == code


def test_a_wrong_argument_names_what_is_possible(tmp_path: Path) -> None:
    done = run(tmp_path, 'checkup(SOUND, BATCH, fail_on="never")')
    assert done.returncode == 1
    assert "Possible: 'critical', 'warning'." in done.stdout


def test_torch_is_not_imported_for_tests_without_a_checkup() -> None:
    code = "import sys, sickbay.pytest_plugin; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
