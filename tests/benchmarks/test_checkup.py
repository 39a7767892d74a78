"""The benchmark of checkups: its lists, what it counts, and a few models from end to end."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.checkup import tables
from benchmarks.checkup.__main__ import arguments, main
from benchmarks.checkup.catalogue import ALL, FAULTS, SOUND
from benchmarks.checkup.plant import HALVES, Given, Net, Plants
from benchmarks.checkup.run import Record, chosen_for, counted, examine, statement
from sickbay.checkups.statements import EVERY

FAULT = "gradient_reaches_every_parameter/mlp, detached between two layers"
RARE = ("works_when_compiled",)  # what compiling gets wrong changes with every torch


def test_there_are_enough() -> None:
    assert len(FAULTS) >= 90
    assert len(SOUND) >= 60


def test_names_are_unique() -> None:
    assert len(ALL) == len(FAULTS) + len(SOUND)


def test_every_test_has_faults_in_both_halves() -> None:
    planted = Counter(each.test for each in FAULTS)
    tests = {each.name() for each in EVERY} - set(RARE)
    assert {test: planted[test] for test in tests if planted[test] < 3} == {}
    halves = Counter((each.test, each.half) for each in FAULTS)
    assert all(halves[test, half] for test in planted for half in HALVES)


def test_halves_alternate() -> None:
    plants = Plants()
    for name in "abc":
        plants.add("x", name, lambda: Given(nn.Linear(1, 1)))
    plants.add("y", "d", lambda: Given(nn.Linear(1, 1)))
    halves = ["calibration", "reporting", "calibration", "calibration"]
    assert [each.half for each in plants.all] == halves


def test_every_test_that_is_listed_can_be_had() -> None:
    for kind in EVERY:
        assert isinstance(statement(kind.name()), kind)
    assert statement("no_such_test") is None


def test_optional_tests_are_run_for_their_faults_only() -> None:
    usual, own = chosen_for(""), chosen_for("learning_rate_is_sane")
    assert [each.name() for each in own if each.optional] == ["learning_rate_is_sane"]
    assert not any(each.optional for each in usual)
    assert len(usual) == len(own) - 1


def test_a_fault_is_found() -> None:
    record = examine(FAULT)
    assert record["outcome"] == "failed"
    assert record["test"] in record["failed"]
    assert record["calls"] > 0


def test_a_sound_model_passes() -> None:
    assert examine("sound/mlp, three classes")["failed"] == {}


def test_it_is_the_same_each_time() -> None:
    name = "sound/lstm"
    one, other = examine(name), examine(name)
    assert [each["message"] for each in one["results"] if "memory" not in each["test"]] == [
        each["message"] for each in other["results"] if "memory" not in each["test"]
    ]


def test_passes_are_of_the_model_itself_and_by_samples() -> None:
    inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    given = Given(nn.Sequential(inner, nn.Linear(3, 2)), torch.ones(8, 3))
    with counted(given) as passes:
        given.model(given.batch)
        given.model(given.batch[:2])
        nn.MSELoss()(given.batch, given.batch)
    given.model(given.batch)
    assert (passes.calls, passes.batches) == (2, 1.25)


def test_a_pass_that_raises_is_counted() -> None:
    given = Given(Net(lambda net, x: net.last(x), last=nn.Linear(3, 2)), torch.ones(8, 3))
    with counted(given) as passes:
        with pytest.raises(RuntimeError):
            given.model(torch.ones(8, 4))
        given.model(given.batch)
    assert passes.calls == 2


def record(test: str, outcome: str, half: str = "reporting", **failed: str) -> Record:
    return {
        "name": f"{test or 'sound'}/x", "test": test, "half": half, "outcome": outcome,
        "message": "", "failed": failed, "seconds": 1.0, "calls": 3, "batches": 2.0,
    }  # fmt: skip


def test_what_must_hold_is_of_each_half() -> None:
    records = [record("a", "failed", a="")] * 19 + [record("a", "passed")]
    records += [record("a", "passed", "calibration"), record("", "missing", b="no")]
    rows = tables.must_hold(records, HALVES, None).rows
    assert [row[1:] for row in rows] == [
        ["0.0%", "at least 95%", "FAILS"],
        ["95.0%", "at least 95%", "holds"],
        ["1 of 1", "at most 1", "holds"],
    ]


def test_a_fault_that_only_others_find_is_missed() -> None:
    rows = tables.misses([record("a", "skipped", b="no"), record("a", "failed", a="")]).rows
    assert [row[4] for row in rows] == ["b"]


def test_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "all.json", tmp_path / "page.md"
    options = ["--part", "both", "--only", FAULT, "--workers", "1", "--json", str(file)]
    assert main([*options, "--docs", str(page)]) == 0
    assert "100.0%" in capsys.readouterr().out
    assert [each["outcome"] for each in json.loads(file.read_text())["models"]] == ["failed"]
    assert "## What must hold" in page.read_text()


def test_a_name_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--only", "nothing of the kind"])
    assert "--only must be in a name of the reporting part" in capsys.readouterr().err
