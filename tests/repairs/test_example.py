"""What the documentation and the example show is what happens."""

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
