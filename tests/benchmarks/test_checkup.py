"""The checkup benchmark: its cases, its counts, and a few models from end to end."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from benchmarks.checkup import tables
from benchmarks.checkup.__main__ import arguments, main
from benchmarks.checkup.all_cases import ALL, FAULTS, SOUND
from benchmarks.checkup.case import HALVES, Case, CaseList, Inputs, Net
from benchmarks.checkup.examine_model import Record, chosen_for, counted, examine, statement
from sickbay.checkups.statements import EVERY

FAULT = "gradient_reaches_every_parameter/mlp, detached between two layers"
LOSS_RAISES = (
    "output_fits_the_targets/transformer, classes are not the second dimension",
    "targets_are_sane/transformer, padding is -1 where -100 is left out",
)
RARE = ("works_when_compiled",)  # what compiling gets wrong changes with every torch


def of(cases: tuple[Case, ...], half: str) -> list[Case]:
    return [each for each in cases if each.half == half]


def test_each_half_has_enough_cases() -> None:
    assert len(of(FAULTS, "calibration")) >= 276
    assert len(of(FAULTS, "reporting")) >= 66
    assert len(of(SOUND, "calibration")) >= 135
    assert len(of(SOUND, "reporting")) >= 44


def test_names_are_unique() -> None:
    assert len(ALL) == len(FAULTS) + len(SOUND)


def test_every_test_has_faults_in_each_half() -> None:
    tests = {each.name() for each in EVERY} - set(RARE)
    for half, fewest in (("calibration", 3), ("reporting", 2)):
        planted = Counter(each.test for each in of(FAULTS, half))
        assert {test: planted[test] for test in tests if planted[test] < fewest} == {}
        assert set(planted) <= tests


def test_a_case_has_the_half_of_its_list() -> None:
    for half in HALVES:
        cases = CaseList(half)
        cases.add("x", "a", lambda: Inputs(nn.Linear(1, 1)))
        cases.sound("b")(lambda: Inputs(nn.Linear(1, 1)))
        assert [each.half for each in cases.all] == [half, half]


def test_folders_match_the_halves() -> None:
    for each in ALL.values():
        held_out = "checkup.held_out." in each.make.__module__
        assert each.half == ("reporting" if held_out else "calibration"), each.name


def as_tensor(given: Any) -> Any:
    return torch.from_numpy(given) if isinstance(given, np.ndarray) else given


def parts(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Return arguments, arguments by name and targets of the first samples of a batch."""
    if isinstance(batch, DataLoader):
        batch = tuple(next(iter(batch)))
    if isinstance(batch, dict | Tensor):
        batch = (batch, None)
    *inputs, targets = batch
    if len(inputs) == 1 and isinstance(inputs[0], dict):
        return (), inputs[0], targets
    first = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], tuple) else inputs
    return tuple(map(as_tensor, first)), {}, as_tensor(targets)


def loss_of(given: Inputs) -> Tensor:
    """Return the loss of a pass, or a number of the outputs where there is none."""
    inputs, named, targets = parts(given.batch)
    outputs = given.model(*inputs, **named)
    own = outputs.get("loss") if isinstance(outputs, dict) else getattr(outputs, "loss", None)
    if isinstance(own, Tensor):
        return own
    if given.loss is None:
        first: Tensor = outputs if isinstance(outputs, Tensor) else outputs[0]
        return first.square().mean()
    loss: Tensor = given.loss(outputs, targets)
    return loss


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", of(SOUND, "reporting"), ids=lambda case: case.name)
def test_a_held_out_sound_model_runs(case: Case) -> None:
    torch.manual_seed(0)
    given = case.make()
    loss = loss_of(given)
    torch.autograd.backward(loss)
    assert loss.isfinite()
    gradients = [each.grad for each in given.model.parameters() if each.grad is not None]
    assert gradients
    assert all(each.isfinite().all() for each in gradients)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", of(FAULTS, "reporting"), ids=lambda case: case.name)
def test_a_held_out_fault_runs_unless_that_is_the_fault(case: Case) -> None:
    torch.manual_seed(0)
    given = case.make()
    if case.test == "memory_is_bounded":
        inputs, targets = given.batch
        given = replace(given, batch=(inputs[:2], targets[:2]))
    if case.test == "runs_on_the_batch":
        with pytest.raises((RuntimeError, TypeError, IndexError)):
            torch.autograd.backward(loss_of(given))
    elif case.name in LOSS_RAISES:
        with pytest.raises((RuntimeError, IndexError)):
            loss_of(given)
    else:
        torch.autograd.backward(loss_of(given))


def test_every_listed_test_exists() -> None:
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


def test_results_are_reproducible() -> None:
    name = "sound/lstm"
    one, other = examine(name), examine(name)
    assert [each["message"] for each in one["results"] if "memory" not in each["test"]] == [
        each["message"] for each in other["results"] if "memory" not in each["test"]
    ]


def test_only_passes_of_the_model_itself_count_weighted_by_samples() -> None:
    inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    given = Inputs(nn.Sequential(inner, nn.Linear(3, 2)), torch.ones(8, 3))
    with counted(given) as passes:
        given.model(given.batch)
        given.model(given.batch[:2])
        nn.MSELoss()(given.batch, given.batch)
    given.model(given.batch)
    assert (passes.calls, passes.batches) == (2, 1.25)


def test_a_pass_that_raises_is_counted() -> None:
    given = Inputs(Net(lambda net, x: net.last(x), last=nn.Linear(3, 2)), torch.ones(8, 3))
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


def test_limits_are_checked_for_each_half() -> None:
    records = [record("a", "failed", a="")] * 19 + [record("a", "passed")]
    records += [record("a", "passed", "calibration"), record("", "missing", b="no")]
    rows = tables.limits(records, HALVES, None).rows
    assert [row[1:] for row in rows] == [
        ["0.0%", "at least 95%", "FAILS"],
        ["95.0%", "at least 95%", "holds"],
        ["1 of 1", "at most 1", "holds"],
    ]


def test_a_fault_that_only_other_tests_find_is_missed() -> None:
    rows = tables.misses([record("a", "skipped", b="no"), record("a", "failed", a="")]).rows
    assert [row[4] for row in rows] == ["b"]


def test_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "all.json", tmp_path / "page.md"
    options = ["--part", "both", "--only", FAULT, "--workers", "1", "--json", str(file)]
    assert main([*options, "--docs", str(page)]) == 0
    assert "100.0%" in capsys.readouterr().out
    assert [each["outcome"] for each in json.loads(file.read_text())["models"]] == ["failed"]
    assert "## Limits" in page.read_text()


def test_an_unknown_name_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--only", "nothing of the kind"])
    assert "--only must be part of a name in the reporting part" in capsys.readouterr().err
