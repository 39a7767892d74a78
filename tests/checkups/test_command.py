import json
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from sickbay.checkups import Statement
from sickbay.checkups.statements import EVERY
from sickbay.cli import main

SCHEMA = Path(sys.prefix) / "sarif-2.1.0.json"
NETS = """
import torch
from torch import nn

class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.second(self.first(x).detach())

def cut():
    return Cut()

def sound():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

def all_of_it():
    model = sound()
    batch = torch.randn(32, 4), torch.arange(32) % 3
    return {"model": model, "batch": batch, "optimizer": torch.optim.Adam(model.parameters())}

def batch():
    return torch.randn(6, 4), torch.arange(6) % 3

def nothing():
    return 3

def odd():
    return {"model": sound(), "lose": None}
"""


@pytest.fixture(autouse=True)
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "nets", raising=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["nets:cut"], 1, id="cut"),
        pytest.param(["nets:cut", "--fail-on", "never"], 0, id="cut-but-never-fails"),
        pytest.param(["nets:sound"], 0, id="sound"),
        pytest.param(["nets:all_of_it"], 0, id="a-dict"),
        pytest.param(["nets:sound", "--batch", "5x4"], 0, id="a-shape"),
        pytest.param(["nets:sound", "--batch", "nets:batch"], 0, id="a-function"),
        pytest.param(["nets:sound", "--batch", "5x7"], 1, id="a-shape-that-does-not-fit"),
        pytest.param(
            ["nets:sound", "--batch", "nets:batch", "--loss", "torch.nn:NLLLoss"], 1, id="a-loss"
        ),
        pytest.param(["nets:sound", "--tests", "runs_on_the_batch"], 0, id="one-test"),
    ],
)
def test_the_exit_code(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkup", *arguments]) == code
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["nets:cutt"], "did you mean 'cut'?", id="no-such-function"),
        pytest.param(["netts:cut"], "There is no module 'netts'", id="no-such-module"),
        pytest.param([], "A checkup needs a function that returns the model", id="nothing"),
        pytest.param(["nets"], "package.module:function, got 'nets'", id="no-colon"),
        pytest.param(["nets:nothing"], "must return a model", id="no-model"),
        pytest.param(["nets:odd"], "did you mean 'loss'?", id="an-odd-part"),
        pytest.param(["nets:cut", "--tests", "runs"], "There is no test 'runs'", id="no-such-test"),
        pytest.param(["nets:cut", "--task", "guess"], "There is no task 'guess'", id="no-task"),
    ],
)
def test_bad_arguments(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkup", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_failure_says_why_where_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    main(["checkup", "nets:cut"])
    printed = capsys.readouterr().out
    first = printed.splitlines()[0]
    assert (
        first == "✖ gradient reaches every parameter: first.weight and 1 more of 4 got no gradient"
    )
    assert "  in   first.weight, first.bias" in printed
    assert "  try  look for .detach()" in printed
    assert "generated for first (Linear)" in printed
    assert "Cut: 1 failed, " in printed


def test_json_holds_every_result(capsys: pytest.CaptureFixture[str]) -> None:
    main(["checkup", "nets:cut", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["model"], report["file"]) == ("Cut", "nets.py")
    assert report["failed"] + report["passed"] + report["skipped"] == len(report["results"])
    [failed] = [each for each in report["results"] if each["outcome"] == "failed"]
    assert failed["layers"] == ["first.weight", "first.bias"]


@pytest.mark.parametrize("factory", ["nets:cut", "nets:sound", "nets:all_of_it"])
def test_sarif_is_valid(factory: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not SCHEMA.exists():
        pytest.skip(
            "SARIF's schema could not be installed: `make .venv/sarif-2.1.0.json` needs npm"
        )
    main(["checkup", factory, "--sarif"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    results = report["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == (
        ["gradient_reaches_every_parameter"] if factory == "nets:cut" else []
    )


def test_sarif_points_to_the_definition_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    main(["checkup", "nets:cut", "--sarif"])
    run = json.loads(capsys.readouterr().out)["runs"][0]
    [result] = run["results"]
    place = result["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "nets.py"
    line = place["physicalLocation"]["region"]["startLine"]
    assert NETS.splitlines()[line - 1].startswith("class Cut")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "Cut.first.weight"


def test_the_list_names_every_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checkup", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(kind.name() in printed for kind in EVERY)


@pytest.mark.parametrize("kind", EVERY)
def test_every_test_is_explained(kind: type[Statement], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", kind.name()]) == 0
    printed = capsys.readouterr().out
    assert kind.statement() in printed
    assert kind.remedy in printed


def test_an_unknown_name_cannot_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "runs_on_a_batch"]) == 2
    assert "did you mean 'runs_on_the_batch'?" in capsys.readouterr().err
