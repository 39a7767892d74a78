"""The lists in pyproject.toml, the Makefile and constraints.txt agree."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    pytest.skip("tomllib came with Python 3.11", allow_module_level=True)

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS: dict[str, list[Any]] = PROJECT["dependency-groups"]


def installed(target: str) -> set[str]:
    """Return the packages that a target of the Makefile installs."""
    recipe = re.search(rf"^\.venv/{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    command = recipe[1].replace("\\\n", " ").splitlines()[0]
    return {word.strip("'") for word in command.partition("constraints.txt")[2].split()}


@pytest.mark.parametrize("group", GROUPS)
def test_make_installs_the_dependency_groups(group: str) -> None:
    names = {name for name in GROUPS[group] if isinstance(name, str)}
    assert installed(f"ready-{group}") == names


def test_dev_has_all_that_the_tests_import() -> None:
    assert {"include-group": "bench"} in GROUPS["dev"]


@pytest.mark.parametrize(
    "name", sorted({n for g in GROUPS.values() for n in g if isinstance(n, str)})
)
def test_every_package_is_pinned(name: str) -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
    assert f"\n{name.partition('[')[0]}==" in pins


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert "\nversion:" not in citation


def test_the_design_shows_the_layers_of_the_import_contract() -> None:
    layers = [
        contract["layers"]
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    shown = "\n".join(f" {layer}" for layer in layers[0])
    assert f"```text\n{shown}\n```" in design
