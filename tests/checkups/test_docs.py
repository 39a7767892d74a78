"""The documentation describes the tests as they are."""

import re
import subprocess
import sys
from inspect import getdoc
from pathlib import Path

import pytest

from sickbay.checkups import Statement
from sickbay.checkups.statements import EVERY

ROOT = Path(__file__).parents[2]


def test_the_table_of_tests_is_complete() -> None:
    page = (ROOT / "docs" / "guide" / "checkup.md").read_text(encoding="utf-8")
    table = page.partition("<!-- tests -->\n")[2].partition("<!-- /tests -->")[0]
    assert table.splitlines()[2:] == [
        f"| `{kind.name()}` | {kind.statement()} | "
        f"{kind.severity}{' (optional)' if kind.optional else ''} |"
        for kind in EVERY
    ]


def test_there_are_as_many_tests_as_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "runs more than 20 tests" in readme
    assert sum(not kind.optional for kind in EVERY) > 20


def test_the_example_prints_what_the_readme_shows() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(✖ optimizer.*?)```", readme, re.DOTALL)[0]
    script = str(ROOT / "examples" / "checkup.py")
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    assert done.stdout.startswith(shown)


@pytest.mark.parametrize("kind", EVERY)
def test_every_test_says_what_why_and_how(kind: type[Statement]) -> None:
    text = getdoc(kind) or ""
    assert kind.statement().endswith(".")
    assert kind.reason().endswith(".")
    assert "How it is tested:\n" in text
    assert kind.remedy
