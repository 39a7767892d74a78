"""What the documentation shows is what happens."""

import re
import subprocess
import sys
from inspect import getdoc
from pathlib import Path

import pytest

from sickbay.problems.profiles import EVERY, profiles_of

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(example: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "examples" / example)
    return subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)


def test_the_loop_and_what_it_prints_are_verbatim() -> None:
    loop, printed = re.findall(r"```(?:python|text)\n(.*?)```", README, re.DOTALL)[:2]
    assert loop in (ROOT / "examples" / "loop.py").read_text(encoding="utf-8")
    assert run("loop.py").stderr == printed


def test_the_first_screen_has_what_matters() -> None:
    screen = "\n".join(README.splitlines()[:32])
    assert all(part in screen for part in ("make demo", "make test", "doctor.step(loss)", "try  "))


def test_the_chart_example_runs() -> None:
    assert run("chart.py").stdout.startswith("20 steps, loss ")


def test_the_table_of_problems_is_complete() -> None:
    rows = [
        f"| `{name}` | {(getdoc(kind) or '').partition(chr(10))[0]} | "
        f"{', '.join(profiles_of(name))} |"
        for name, kind in sorted(EVERY.items())
    ]
    table = README.partition("<!-- problems -->\n")[2].partition("<!-- /problems -->")[0]
    assert table.splitlines()[2:] == rows


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *map(str, Path("docs").rglob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / link).exists(), link
