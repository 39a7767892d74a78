"""The programs benchmark: its programs, its judgement, its processes and its command."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks.programs import faults, judge, tables
from benchmarks.programs.__main__ import main
from benchmarks.programs.all_programs import every, find
from benchmarks.programs.processes import run_each
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.rivals import RIVALS, TorchAudit
from benchmarks.programs.run_program import Task, Unwatched
from benchmarks.programs.scores import labels_right, right_share
from benchmarks.worker_pool import Failure

KINDS = {
    "tabular", "regression", "images", "text", "series", "autoencoders", "multi-label", "ranking",
    "sequence to sequence", "GAN", "reinforcement learning", "fine-tuning", "tiny data",
}  # fmt: skip
CALIBRATION = list(find("calibration"))
ALL = every()


def test_the_calibration_half_is_broad() -> None:
    assert len(CALIBRATION) >= 100
    assert {each.kind for each in CALIBRATION} == KINDS
    assert sum(len(each.faults) > 1 for each in CALIBRATION) >= 25
    assert sum(any(fault.mild for fault in each.faults) for each in CALIBRATION) >= 35
    assert sum(each.parts is not None for each in CALIBRATION) >= 60
    assert len({fault.kind for each in CALIBRATION for fault in each.faults}) >= 45


@pytest.mark.parametrize("program", ALL.values(), ids=lambda each: each.name)
def test_a_program_is_well_formed(program: Any) -> None:
    assert 1 <= len(program.faults) <= 3
    assert re.match(r"(forum|issue|Q&A|course|DeepCrime|Humbatova|defects4ML): ", program.source)
    for fault in program.faults:
        assert fault.names
        assert all(re.fullmatch(r"[a-z_]+", name) for name in (*fault.names, *fault.also))


def test_a_kind_has_the_same_names_everywhere() -> None:
    seen: dict[str, tuple[str, ...]] = {}
    for program in ALL.values():
        for fault in program.faults:
            assert seen.setdefault(fault.kind, fault.names) == fault.names


def made(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x = torch.linspace(-1, 1, 60).unsqueeze(1)
    y = (x.squeeze(1) > 0).long()
    model = nn.Linear(1, 2)
    return Parts(
        model=model,
        data=(x, y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0 if fixed else 0.0),
        score=lambda model: right_share(model(x), y),
        constant=0.5,
        epochs=30,
        validation=(x, y),
    )


def test_a_program_is_named_by_its_function_and_trained_by_the_shared_loop() -> None:
    programs = ProgramList("reporting", "tiny data")
    programs.supervised([faults.LOW_RATE], "forum: it does not move")(made)
    (program,) = programs.all
    assert (program.name, program.half, program.mild) == ("tiny_data/made", "reporting", False)
    assert program.main(lambda *_: Unwatched(), True, 0) == 1.0
    assert program.main(lambda *_: Unwatched(), False, 0) < 1.0


def test_the_doctor_gets_every_step_and_epoch() -> None:
    losses, epochs = [], []

    class Doctor(Unwatched):
        def step(self, loss: torch.Tensor) -> None:
            losses.append(loss.item())

        def epoch(self, **metrics: float) -> None:
            epochs.append(metrics)

    def watch(*_: object) -> Doctor:
        return Doctor()

    programs = ProgramList("reporting", "tiny data")
    programs.supervised(faults.LOW_RATE, "forum: it does not move")(made)
    programs.all[0].main(watch, True, 0)
    assert len(losses) == 60
    assert len(epochs) == 30
    assert epochs[0]["val_loss"] > epochs[-1]["val_loss"]


def record(
    said: str = "", accused: str = "", score: float | None = None, solved: bool = True
) -> dict[str, Any]:
    """Return a record of a program with two faults whose fix scores 0.9 and a constant 0.5.

    `said` and `accused` are names; one that begins with "~" is an info.
    """

    def findings(names: str) -> list[dict[str, Any]]:
        return [
            {"problem": name.strip("~"), "severity": "info" if "~" in name else "warning"}
            for name in names.split()
        ]

    both = (Fault("a", ("right_a",), ("symptom_a",)), Fault("b", ("right_b",), mild=True))
    return {
        "name": "tabular/made",
        "kind": "tabular",
        "faults": [vars(each) for each in both],
        "sick": {"score": 0.5, "findings": findings(said)},
        "fixed": {"score": 0.9, "findings": findings(accused)},
        "constant": 0.5,
        "repairable": True,
        "repair": None if score is None else {"score": score, "solved": solved},
    }


@pytest.mark.parametrize(
    ("said", "named", "first"),
    [
        pytest.param("right_a right_b", [True, True], "right", id="both"),
        pytest.param("loss_spike right_b", [False, True], "wrong", id="second-only"),
        pytest.param("symptom_a", [False, False], "symptom", id="symptom"),
        pytest.param("not_learning", [False, False], "symptom", id="symptom-of-all-faults"),
        pytest.param("~right_a loss_spike", [True, False], "wrong", id="a-warning-before-an-info"),
        pytest.param("~right_a", [True, False], "right", id="info-only"),
        pytest.param("", [False, False], "-", id="nothing"),
    ],
)
def test_faults_are_named(said: str, named: list[bool], first: str) -> None:
    assert judge.named(record(said)) == named
    assert judge.first(record(said)) == first


def test_only_warnings_accuse_a_fix() -> None:
    assert judge.accusations(record(accused="~overfitting")) == []
    assert judge.accusations(record(accused="loss_spike loss_spike")) == ["loss_spike"]


@pytest.mark.parametrize(
    ("score", "solved", "repaired", "false"),
    [
        pytest.param(0.86, True, True, False, id="near-the-fix"),
        pytest.param(0.84, True, False, True, id="solved-far-below-the-fix"),
        pytest.param(0.84, False, False, False, id="says-that-it-is-not-solved"),
        pytest.param(0.5, True, False, True, id="solved-at-the-constant"),
        pytest.param(0.95, False, True, False, id="better-than-it-says"),
    ],
)
def test_repairs(score: float, solved: bool, repaired: bool, false: bool) -> None:
    made_up = record(score=score, solved=solved)
    assert judge.is_repaired(made_up) is repaired
    assert judge.is_falsely_solved(made_up) is false


def test_a_repair_that_fails_is_not_repaired() -> None:
    failed = {**record(), "repair": {"score": None, "solved": False, "error": "UsageError"}}
    assert not judge.is_repaired(failed)
    assert not judge.is_falsely_solved(failed)


def test_figures_count_faults_and_programs() -> None:
    some = [record("right_a", score=0.9), record("right_b right_a", "loss_spike", 0.2)]
    some.append(record("not_learning"))
    assert tables.figures(some) == {
        "faults named": (3, 6),
        "programs with a fault named": (2, 3),
        "first finding right": (2, 3),
        "fixed programs accused": (1, 3),
        "repaired to within 5 points of the fix": (1, 2),
        "solved, but not so": (1, 2),
    }


def test_what_cannot_be_repaired_counts_only_if_it_is_called_solved() -> None:
    hopeless = {**record(score=0.6), "repairable": False}
    values = tables.figures([hopeless, record(score=0.9)])
    assert values["repaired to within 5 points of the fix"] == (1, 1)
    assert values["solved, but not so"] == (1, 2)


def test_what_infos_add_is_told() -> None:
    some = [record("right_a ~right_b", "~loss_spike"), record("~right_a", "loss_spike")]
    assert tables.by_severity(some).rows == [
        ["faults named", "1 of 4", "3 of 4"],
        ["fixed programs with a finding", "1 of 2", "2 of 2"],
    ]


def test_limits_that_fail_are_named() -> None:
    rows = tables.must_hold([record("right_a right_b", score=0.9)]).rows
    assert [row[-1] for row in rows] == ["holds"] * 5
    rows = tables.must_hold([record("right_a", "loss_spike", 0.2)]).rows
    assert [row[-1] for row in rows] == ["FAILS", "holds", "FAILS", "FAILS", "FAILS"]


def test_other_tools_are_judged_by_our_names() -> None:
    other = {"sick": [["dead_units", "right_a"]], "fixed": [["loss_spike"]]}
    both = {**record("right_b"), "rivals": {"other": other}}
    assert judge.named(both, "other") == [True, False]
    assert judge.accusations(both, "other") == ["loss_spike"]
    (sheet,) = (each for each in tables.sheets([both]) if each.title == "Other tools")
    assert [row[:2] for row in sheet.rows] == [["sickbay", "1 of 2"], ["other", "1 of 2"]]


def test_names_of_other_tools_are_translated() -> None:
    tool = object.__new__(TorchAudit)
    assert tool.translate("TA102") == ["exploding_gradient"]
    assert tool.translate("TA999") == ["TA999"]
    ours = {
        name for each in RIVALS.values() for told in each.meanings.values() for name in told.split()
    }
    assert all(re.fullmatch(r"[a-z_]+", name) for name in ours)


def test_scores_of_answers_that_are_not_finite() -> None:
    assert right_share(torch.tensor([[torch.nan, 1.0], [0.0, 1.0]]), torch.tensor([0, 1])) == 0.5
    score = labels_right(torch.tensor([[2.0, -1.0]]), torch.tensor([[1.0, 0.0]]))
    assert score(nn.Identity()) == 1.0


def act(item: str) -> str:
    """Do what an item says, in a process of its own."""
    if item == "raise":
        raise ValueError("it raised")
    if item == "die":
        os._exit(3)
    if item == "sleep":
        sleep(60)
    return item.upper()


def test_one_process_stops_no_other() -> None:
    done = dict(run_each(act, ["sleep", "fine", "raise", "die", "fine too"], 2, 8.0))
    assert done.pop("fine") == "FINE"
    assert done.pop("fine too") == "FINE TOO"
    assert isinstance(done["raise"], Failure)
    assert "it raised" in done["raise"].why
    assert done["die"] == Failure("the process ended with status 3")
    assert done["sleep"] == Failure("it took more than 8 s")


def test_a_program_is_run_sick_fixed_and_repaired() -> None:
    made_up = Task()("tiny_data/years_and_prices")
    assert made_up["sick"]["score"] < 0 < 0.9 < made_up["fixed"]["score"]
    assert made_up["sick"]["findings"][0]["problem"]
    assert isinstance(made_up["repair"]["solved"], bool)
    assert made_up["constant"] == 0.0
    assert json.loads(json.dumps(made_up)) == made_up


def test_the_command_reuses_results_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "results.jsonl", tmp_path / "programs.md"
    held = {**record("right_a", score=0.9), "name": "tiny_data/xor_linear"}
    file.write_text(json.dumps(held) + "\n")
    args = ["--half", "calibration", "--only", "xor_linear", "--json", str(file)]
    assert main([*args, "--markdown", str(page)]) == 0
    assert file.read_text() == json.dumps(held) + "\n"
    text = page.read_text()
    assert "Generated by `python -m benchmarks.programs --half calibration" in text
    assert "- Faults named: 1 of 2 (50 %); must be at least 90 %." in text
    assert "xor_linear" in capsys.readouterr().out


def test_a_half_without_such_programs_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--half", "calibration", "--only", "no such program"])
    assert "got 'no such program'" in capsys.readouterr().err


def test_a_script_returns_its_score() -> None:
    programs = ProgramList("calibration", "GAN")

    @programs.script(faults.DETACHED, "issue: nothing changes", data="mnist")
    def still(_watch: Watch, fixed: bool, _seed: int) -> float:
        return float(fixed)

    assert still is programs.all[0].main
    assert (programs.all[0].name, programs.all[0].data) == ("GAN/still", "mnist")
