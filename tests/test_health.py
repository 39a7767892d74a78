from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import torch

import sickbay
from sickbay.findings import Finding, Suggestion
from sickbay.health import Health, State, Trend, assess, loss_trend
from sickbay.history import History
from sickbay.problems.published.training_doctor.suggestions import suggestions
from tests.doctor.loops import learn, watch
from tests.models import features, mlp

FALLING = [1.0 - 0.01 * step for step in range(40)]
FLAT = [1.0, 1.1] * 20


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param(FALLING, "falling", id="falling"),
        pytest.param(FALLING[::-1], "rising", id="rising"),
        pytest.param(FLAT, "flat", id="flat"),
        pytest.param([1.0] * 40, "flat", id="constant"),
        pytest.param([0.0, 2.0] * 10 + [0.0, 1.8] * 10, "flat", id="lost-in-noise"),
        pytest.param([1e-6 * loss for loss in FALLING], "falling", id="any-scale"),
        pytest.param(FALLING[:19], "unknown", id="too-early"),
        pytest.param(FALLING[:20], "falling", id="just-enough"),
        pytest.param([], "unknown", id="none"),
        pytest.param([*FALLING, nan], "rising", id="nan-now"),
        pytest.param([*FALLING[:5], inf, *FALLING[5:]], "falling", id="inf-before"),
        pytest.param([1e300, -1e300] * 20, "flat", id="huge"),
    ],
)
def test_trend(losses: list[float], expected: Trend) -> None:
    assert loss_trend(losses) == expected


@pytest.mark.parametrize(
    ("losses", "severities", "expected"),
    [
        pytest.param(FALLING, [], "improving", id="better-than-stable"),
        pytest.param(FLAT, [], "stable", id="stable"),
        pytest.param(FALLING[::-1], [], "stable", id="no-problem-yet"),
        pytest.param(FALLING, ["info"], "improving", id="no-problem"),
        pytest.param(FALLING, ["warning"], "unstable", id="unstable"),
        pytest.param(FALLING, ["warning", "critical"], "critical", id="the-worst-counts"),
        pytest.param([], [], "unknown", id="before-the-first-step"),
        pytest.param([*FLAT, 1e9], [], "stable", id="high-but-finite"),
        pytest.param([nan, *FLAT], [], "stable", id="nan-before"),
    ],
)
def test_state(losses: list[float], severities: list[Any], expected: State) -> None:
    present = [
        Finding(problem=f"p{place}", step=3, severity=each, message="why")
        for place, each in enumerate(severities)
    ]
    health = assess(History(loss=losses), present)
    assert health.state == expected
    assert len(health.reasons) == len(severities)
    if "critical" in severities:
        assert health.reasons[0] == "p1 at step 3: why"


@pytest.mark.parametrize("loss", [nan, inf])
@pytest.mark.parametrize("severity", [None, "warning"])
def test_a_loss_that_is_not_finite_is_critical(loss: float, severity: Any) -> None:
    present = [Finding(problem="p", step=3, severity=severity)] if severity else []
    health = assess(History(loss=[*FLAT, loss]), present)
    assert health.state == "critical"
    assert health.reasons[0] == f"the loss is {loss} at step 40"
    assert len(health.reasons) == 1 + len(present)
    assert str(health) == f"critical: the loss is not finite ({loss})"


def test_suggestions_are_by_priority_and_listed_once() -> None:
    drop = Suggestion(words="drop", kind="regularisation", confidence=0.99)
    clip = Suggestion(words="clip", kind="gradient_control", confidence=0.5)
    present = [
        Finding(problem="a", step=1, suggestions=(drop,)),
        Finding(problem="b", step=1, suggestions=(clip, drop)),
    ]
    assert assess(History(), present).suggestions == (clip, drop)


def test_suggestions_do_not_contradict_each_other() -> None:
    slower, clip = suggestions("large_gradient", 2)
    relu, elu = (Suggestion(words=name, code=f"model = {name}") for name in ("relu", "elu"))
    present = [
        Finding(problem="small_gradient", step=1, suggestions=suggestions("small_gradient", 1)),
        Finding(problem="unstable", step=1, suggestions=suggestions("unstable_gradient", 3)),
        Finding(problem="large_gradient", step=1, suggestions=(slower, clip)),
        Finding(problem="dead_units", step=1, suggestions=(relu, elu)),
    ]
    codes = [each.code for each in assess(History(), present).suggestions]
    normalised = suggestions("unstable_gradient", 3)[-1].code
    assert codes == [slower.code, "grad_clip = 0.25", normalised, relu.code, elu.code]


def test_losses_are_the_newest_and_the_best() -> None:
    made = History(loss=[0.4, 0.3])
    for loss in (nan, 0.9, 1.2):
        made.end_epoch(val_loss=loss)
    health = assess(made, [])
    assert (health.loss, health.val_loss, health.best_val_loss) == (0.3, 1.2, 0.9)
    assert (health.step, health.epoch) == (1, 3)


def test_json_has_no_nan() -> None:
    values = json.loads(json.dumps(Health().as_json(), allow_nan=False))
    assert values["state"] == "unknown"
    assert values["loss"] == "nan"


def trained(validations: int, **options: Any) -> sickbay.Doctor:
    torch.manual_seed(0)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    doctor = watch(model, optimizer, **options)
    for _ in range(validations):
        doctor.step(learn(model, optimizer, features()))
        doctor.epoch(train_accuracy=0.5)  # no validation, so it does not count
        doctor.step(learn(model, optimizer, features()))
        doctor.epoch(val_loss=9.0)
    return doctor


@pytest.mark.parametrize(
    ("options", "epochs"),
    [
        pytest.param({"profile": "training_doctor"}, [6, 12], id="every-third-as-published"),
        pytest.param({"profile": "training_doctor", "report_every": 0}, [], id="never"),
        pytest.param({}, [], id="default"),
        pytest.param({"report_every": 4}, [8], id="asked-for"),
    ],
)
def test_reports(options: dict[str, Any], epochs: list[int]) -> None:
    assert [each.epoch for each in trained(6, **options).reports] == epochs


def test_reports_are_printed_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doctor = trained(3, profile="training_doctor", on_finding="advise", chart=tmp_path / "run")
    doctor.close()
    said = capsys.readouterr().err
    assert "♥ step 5  critical: the loss shows no trend yet" in said
    assert "try  add 0.1 to the dropout, up to 0.5  (stated confidence 0.8; not tried yet)" in said
    (report,) = sickbay.Chart.open(tmp_path / "run").reports()
    assert report == doctor.reports[0] == doctor.health


def test_silent_reports_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert trained(3, profile="training_doctor").reports
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", True])
def test_wrong_interval(wrong: Any) -> None:
    with pytest.raises(sickbay.UsageError, match="report_every must be"):
        sickbay.watch(mlp(), report_every=wrong)
