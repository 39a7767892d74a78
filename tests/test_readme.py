"""What the documentation shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sickbay.problems.by_name import EVERY

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(example: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "examples" / example)
    return subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)


def test_the_loop_and_what_it_prints_are_verbatim() -> None:
    loop, printed = re.findall(r"```(?:python|text)\n(.*?)```", README, re.DOTALL)[:2]
    assert loop in (ROOT / "examples" / "loop.py").read_text(encoding="utf-8")
    assert run("loop.py").stderr == printed


def test_the_readme_is_short_and_leads_with_a_picture() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    first_screen = "\n".join(lines[:35])
    assert all(
        part in first_screen
        for part in (".svg)", "make demo", "make test", "doctor.step(loss)", "try  ")
    )


def test_the_chart_example_runs() -> None:
    assert run("chart.py").stdout.startswith("20 steps, loss ")


def test_generated_tables_are_up_to_date() -> None:
    command = [sys.executable, "-m", "tools.write_tables", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}run `make exports`"


def test_there_are_as_many_problems_as_the_readme_says() -> None:
    assert "more than 40 problems" in README
    assert len(EVERY) > 40


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *map(str, Path("docs").rglob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / link).exists(), link
