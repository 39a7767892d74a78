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
    said = re.search(r"more than (\d+) problems", README)
    assert said
    assert 0 < len(EVERY) - int(said[1]) <= 10


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *map(str, Path("docs").rglob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / link).exists(), link


DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "sickbay"


def test_the_design_names_files_that_exist() -> None:
    places = set(re.findall(r"(?:[a-z_]+/)*[a-z_]+\.py\b|`(?:[a-z_]+/)+`", DESIGN))
    assert len(places) > 40
    files = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*")}
    names = {path.rpartition("/")[2] for path in files}
    for place in (each.strip("`/") for each in places):
        assert place in files or ("/" not in place and place in names), place


def test_the_design_names_classes_that_exist() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    classes = set(re.findall(r"`([A-Z][a-z]+[A-Za-z]*)`", DESIGN)) - {"None", "GradScaler"}
    assert [
        name for name in sorted(classes) if not re.search(rf"^class {name}\b", code, re.M)
    ] == []
