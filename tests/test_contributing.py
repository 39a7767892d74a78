"""The templates in CONTRIBUTING.md work as they stand: one file plus one test each."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sickbay

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\S+\.py)\n(.*?)```", PAGE, re.DOTALL))
SOURCES = {path: code for path, code in FILES.items() if path.startswith("src/")}
ASK = """
from sickbay.cli import main
from sickbay.remedies.by_problem import choose

for command in (["explain", "noisy_loss"], ["problems"], ["checkup", "--list"]):
    main(command)
print(choose(["longer_warm_up"])["loss_spike"])
"""
MOST = 60  # lines of code in a template, as CONTRIBUTING.md asks for


@pytest.mark.parametrize("path", SOURCES)
def test_a_template_keeps_to_the_size_it_asks_for(path: str) -> None:
    code = re.sub(r'"""(.*?)"""', "", SOURCES[path], flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= MOST


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, [folder / "src", folder, ROOT / "src"]))
    environment = os.environ | {"PYTHONPATH": paths, "SICKBAY_HOME": str(folder / "home")}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_one_file_and_one_test_are_enough(tmp_path: Path) -> None:
    for name in ("src", "tests", "tools", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for path, code in FILES.items():
        (tmp_path / path).write_text(code, encoding="utf-8")
    for tool in ("tools.write_exports", "tools.write_tables"):  # make exports
        assert run(tmp_path, "-m", tool).returncode == 0
    general = ["tests/problems/test_all.py", "tests/remedies/test_all.py"]
    options = ["-q", "-p", "no:cacheprovider", "-k", "noisy or longer or float32"]
    done = run(tmp_path, "-m", "pytest", *options, *general, *FILES)
    assert done.returncode == 0, done.stdout


def classes() -> dict[str, Any]:
    """Return the classes that the templates define."""
    namespace: dict[str, Any] = {"__name__": "my_package.rules"}
    for code in SOURCES.values():
        exec(code, namespace)
    return namespace


def test_objects_can_be_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path))
    script = re.findall(r"```python\n# Your training script\n(.*?)```", PAGE, re.DOTALL)[0]
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    names = classes() | {
        "sickbay": sickbay, "model": model, "loss": nn.CrossEntropyLoss(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "x": torch.randn(60, 4), "y": torch.arange(60) % 3,
    }  # fmt: skip
    exec(script, names)
    assert names["report"]["parameters_are_float32"].outcome == "passed"


def test_a_package_can_bring_them(tmp_path: Path) -> None:
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    rules = "\n".join(SOURCES.values())
    (tmp_path / "my_package" / "rules.py").write_text(rules, encoding="utf-8")
    declared = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
    points = re.sub(r'project\.entry-points\."(.+?)"', r"\1", declared).replace('"', "")
    (info := tmp_path / "my_package-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    done = run(tmp_path, "-c", ASK)
    assert done.returncode == 0, done.stderr
    assert "The loss varies widely from step to step." in done.stdout
    assert "parameters_are_float32" in done.stdout
    assert "LongerWarmUp" in done.stdout
