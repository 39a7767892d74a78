"""The documentation, the example and the demo show what really happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sickbay import inject
from sickbay.cli import main
from sickbay.demo.command import watch_fault
from sickbay.inject.fault_text import FAULTS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "guide" / "inject.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_the_tables_of_the_page_are_right() -> None:
    assert set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)) == set(FAULTS)
    texts = re.findall(r"^\| `([^`()]+@[^`()]+)` \|", PAGE, re.MULTILINE)
    assert len(texts) == 5
    assert [str(inject.parse(text)).replace("1e-08", "1e-8") for text in texts] == texts


def test_the_example_finds_the_fault_at_its_step() -> None:
    script = str(ROOT / "examples" / "inject.py")
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    injected, found = done.stdout.splitlines()[:2]
    assert injected == "injected: nan_gradient:0@50 at steps [50]"
    assert found.startswith("found:    step 50  non finite  0  ")


def test_the_demo_s_other_network_is_healthy_until_the_fault_comes() -> None:
    last = 8 * 25 - 1  # the last step
    _, doctor = watch_fault(25, inject.parse(f"nan_gradient@{last}"))
    assert [(each.problem, each.step) for each in doctor.findings] == [("non_finite", last)]


def test_the_demo_takes_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--epochs", "3", "--inject", "nan_batch@20"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "with the fault nan_batch@20." in printed
    assert "step 20 non finite" in printed
    assert "Found: non_finite." in printed


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("nan", "There is no fault 'nan'."),
        ("nan_batch@16", "The fault must come before step 16, the end, got 'nan_batch@16'."),
        ("dead_layer:5@3", "There is no layer with a weight of its own '5'."),
    ],
)
def test_a_fault_that_the_demo_cannot_use_gets_one_sentence(
    fault: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--epochs", "2", "--inject", fault]) == 2
    printed = capsys.readouterr().err
    assert expected in printed
    assert printed.count("\n") == 1


def test_the_demo_shuffles_labels_too() -> None:
    plain, shuffled = (
        watch_fault(12, inject.parse(spec))[0]
        for spec in ("scale_gradients*1@0", "shuffle_labels@0")
    )
    assert plain > 0.9 > 0.8 > shuffled
