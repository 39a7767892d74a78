"""The models benchmark: what it judges, and what it notices of a checkup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks.checkup.case import HALVES, Inputs
from benchmarks.models import judge, reasons, tables
from benchmarks.models.__main__ import main
from benchmarks.models.all_models import Model, check, every, unique
from benchmarks.models.architecture import Architecture, Library, half_of
from benchmarks.models.planted import Fault
from benchmarks.models.soundness import losses_of
from benchmarks.models.unchanged import changed, held_by, parts_of, same


def make() -> Inputs:
    data = torch.randn(8, 3), torch.randn(8, 1)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    vars(model)["seen"] = {"batches": [0], "mean": torch.zeros(3)}
    return Inputs(model, data, Weighted())


class Weighted(nn.MSELoss):
    """Counts how often it is called, in a tensor and in a number."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(1))
        self.calls = 0


SOUND = Architecture("torch/rows", "torch", ("torch",), make)
FAULT = Fault("torch/rows, wrong", "torch/rows", "Wrong.", ("targets_are_sane",), lambda it: it)


def record(*failed: tuple[str, str], finds: tuple[str, ...] = ()) -> dict[str, Any]:
    results = [
        {"test": test, "outcome": "failed", "severity": severity, "message": "", "seconds": 0.1}
        for test, severity in failed
    ]
    return {
        "name": "timm/resnet", "library": "timm", "half": "calibration", "weights": 1.0,
        "fault": {"about": "Wrong.", "finds": list(finds)} if finds else None,
        "seconds": 1.0, "memory": 5.0, "changed": [], "raised": "", "exit": 0, "results": results,
    }  # fmt: skip


def test_there_are_enough_architectures_in_both_halves() -> None:
    sound = [each for each in every().values() if each.fault is None]
    assert len(sound) >= 200
    counts = [sum(each.half == half for each in sound) for half in HALVES]
    assert min(counts) >= 0.4 * len(sound)


def test_the_half_of_a_name_never_changes() -> None:
    assert half_of("timm/resnet") == "reporting"
    assert half_of("timm/vit") == "calibration"


def test_two_architectures_must_not_have_the_same_name() -> None:
    with pytest.raises(ValueError, match="torch/rows"):
        unique([SOUND, SOUND])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (replace(FAULT, architecture="torch/none"), "no architecture"),
        (replace(FAULT, finds=("no_such_test",)), "tests that exist"),
        (replace(FAULT, finds=()), "tests that exist"),
        (replace(FAULT, about=""), "one line"),
    ],
)
def test_a_fault_that_cannot_be_judged_is_refused(fault: Fault, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(fault, {SOUND.name: SOUND})


def test_a_fault_is_found_if_one_of_its_tests_fails() -> None:
    given = record(("modes_differ", "warning"), finds=("modes_differ", "uses_positions"))
    assert judge.is_found(given)
    assert not judge.is_found({**given, "fault": {"finds": ["uses_positions"]}})


def test_a_failure_with_a_reason_is_not_false(monkeypatch: pytest.MonkeyPatch) -> None:
    given = record(("modes_differ", "critical"))
    assert judge.is_accused_gravely(given)
    reason = reasons.Reason("It is so.", ("timm/resnet",), "both modes")
    monkeypatch.setattr(reasons, "REASONS", {"modes_differ": (reason,)})
    assert judge.is_accused(given)
    given["results"][0]["message"] = "both modes give the same output"
    assert not judge.is_accused(given)
    assert judge.right_failures(given) == [(given["results"][0], "It is so.")]


def test_reasons_are_given_for_models_that_exist() -> None:
    listed = [each for some in reasons.REASONS.values() for each in some]
    named = [name for each in listed for name in each.architectures]
    assert set(named) <= set(every())
    assert all(each.said for each in listed)


def test_an_architecture_has_one_reason_for_each_test() -> None:
    for some in reasons.REASONS.values():
        named = [name for each in some for name in each.architectures]
        assert len(named) == len(set(named))


def test_a_test_that_crashes_on_a_sound_model_is_counted() -> None:
    given = record()
    other = {"outcome": "skipped", "severity": "warning", "seconds": 0.1}
    given["results"] = [{"test": "modes_differ", "message": "no layer has a mode", **other}]
    assert tables.figures([given])["sound models on which a test crashed"] == (0, 1)
    given["results"].append({"test": "uses_positions", "message": "it raised IndexError", **other})
    assert tables.figures([given])["sound models on which a test crashed"] == (1, 1)
    assert "Tests that crashed on sound models" in [each.title for each in tables.sheets([given])]


def test_a_function_holds_what_is_in_its_closure() -> None:
    weights = torch.ones(2)
    before = held_by(lambda output, targets: (weights * (output - targets)).sum())
    assert same(before, [torch.ones(2)])
    weights.add_(1)
    assert same(before, [torch.ones(2)])


def test_a_checkup_that_raises_is_a_grave_failure() -> None:
    assert judge.is_accused_gravely({**record(), "raised": "ValueError: no"})


@pytest.mark.parametrize(
    ("part", "spoil"),
    [
        ("buffers", lambda given: given.model[1].running_mean.add_(1)),
        ("state dict", lambda given: given.model[0].weight.data.add_(1)),
        ("gradients", lambda given: given.model(given.batch[0]).sum().backward()),
        ("trained parameters", lambda given: given.model[0].requires_grad_(False)),
        ("modes", lambda given: given.model[1].eval()),
        ("hooks", lambda given: given.model[0].register_forward_hook(lambda *_: None)),
        ("plain attributes", lambda given: given.model.seen["batches"].append(1)),
        ("plain attributes", lambda given: given.model.seen["mean"].add_(1)),
        ("loss", lambda given: given.loss.weight.add_(1)),
        ("loss", lambda given: setattr(given.loss, "calls", 1)),
        ("loss", lambda given: given.loss.eval()),
        ("batch", lambda given: given.batch[0].zero_()),
        ("random numbers", lambda _: torch.rand(1)),
    ],
)
def test_each_change_is_noticed(part: str, spoil: Any) -> None:
    given = make()
    before = parts_of(given)
    assert changed(before, given) == []
    spoil(given)
    assert part in changed(before, given)


def test_the_loss_of_a_sound_model_falls() -> None:
    losses = losses_of(make())
    assert losses[-1] < losses[0]


def test_the_page_lists_faults_and_failures() -> None:
    records = [record(("modes_differ", "warning")), record(finds=("uses_positions",))]
    about = {"command": "it", "made": "now", "missing": ["2 models of x."], "failures": ["y died"]}
    page = tables.page(tables.sheets(records), about)
    assert "No result: y died" in page
    assert "Left out: 2 models of x." in page
    assert "MISSED" in page
    assert "## False failures" in page


def test_a_library_that_is_not_installed_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library("nothing", "no_such_module")
    library.architecture(make)
    models = {"nothing/make": Model(library.all[0])}
    monkeypatch.setattr("benchmarks.models.__main__.every", lambda: models)
    main(["--half", "both"])
    assert "1 model of nothing, which is not installed" in capsys.readouterr().out
