"""What the documentation and the example show is what happens."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_is_repaired() -> None:
    command = [sys.executable, str(ROOT / "examples" / "repair.py")]
    env = {**os.environ, "SICKBAY_HOME": os.devnull}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    assert done.stdout.startswith("solved: score ")
    assert "found: vanishing gradient" in done.stdout
    assert "+ model = sickbay.surgery." in done.stdout
    assert "vanishing gradient" in done.stderr


def test_the_example_of_the_command_line_is_repaired() -> None:
    named = ["fit_command:make", "--config", "fit_command.json", "--epochs", "30", "--json"]
    command = [sys.executable, "-m", "sickbay", "fit", *named]
    env = {**os.environ, "SICKBAY_HOME": os.devnull, "PYTHONPATH": os.pathsep.join(sys.path)}
    folder = ROOT / "examples"
    assert f"sickbay fit {' '.join(named[:-1])}" in (folder / "fit_command.py").read_text()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env, cwd=folder)
    outcome = json.loads(done.stdout)
    assert outcome["solved"]
    assert outcome["attempts"][0]["result"] == "vanishing_gradient"
    tried = {each["remedy"] for each in outcome["attempts"]}
    assert tried <= {"", "insert_normalisation", "replace_activation to=elu"}
    assert "epochs" in done.stderr
