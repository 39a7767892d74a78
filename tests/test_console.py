"""rich draws a random number when it is imported; the user's random state must stay."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "sickbay"

STATES = """
import random
import numpy
import torch
def states():
    kept = numpy.random.get_state()
    return random.getstate(), kept[1].tolist(), kept[2:], torch.get_rng_state().tolist()
before = states()
import sickbay
"""


def run(code: str) -> str:
    """Run code in a process where nothing is imported yet, and return what it prints."""
    ran = subprocess.run([sys.executable, "-c", STATES + code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("name", ["fit", "watch", "checkup", "repair", "tuning", "surgery"])
def test_importing_draws_no_random_number(name: str) -> None:
    assert run(f"sickbay.{name}; print(states() == before)") == "True\n"


def test_a_first_fit_draws_no_random_number() -> None:
    told = run("""
from torch import nn, optim
data = torch.arange(60.0)[:, None], torch.arange(60.0)[:, None]
model = nn.Linear(1, 1)
torch.manual_seed(0)
before = states()
optimizer = optim.SGD(model.parameters(), lr=1e-5)
sickbay.fit(model, data, loss=nn.MSELoss(), optimizer=optimizer, epochs=2)
print(states() == before)
""")
    assert told.endswith("True\n")


def test_rich_is_imported_only_by_console() -> None:
    there = {
        path.name
        for path in SOURCE.rglob("*.py")
        if re.search(r"^(from|import) rich\b", path.read_text(), re.MULTILINE)
    }
    assert not there
