"""What a finding suggests: in the finding, in the history, in the chart and on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

import sickbay
from sickbay.doctor.advice import WINDOW, Adviser
from sickbay.findings import Finding, Odds, Suggestion
from sickbay.history import History
from sickbay.problems import DeadUnits, ImproperLoss, NoRecentGain
from sickbay.problems.profiles import PROFILES
from sickbay.problems.published.training_doctor import LargeGradient, Overfitting
from sickbay.remedies import ClipNorm
from sickbay.remedies.by_problem import EVERY, choose
from sickbay.remedies.odds import note, odds
from sickbay.vitals import Setup
from tests.doctor.loops import watch
from tests.models import features, mlp


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path / "home"))


def explode(**options: Any) -> tuple[sickbay.Doctor, list[Finding]]:
    """Train for three steps, the last with a large gradient; return what was found there too."""
    torch.manual_seed(0)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    doctor = watch(model, optimizer, profile="training_doctor", **options)
    returned = []
    for factor in (1.0, 1.0, 1e6):
        optimizer.zero_grad()
        loss = factor * model(features()).square().mean()
        loss.backward()
        optimizer.step()
        returned += doctor.step(loss / factor)
    return doctor, returned


def test_published_suggestions_are_code_with_stated_and_measured_confidence() -> None:
    note("large_gradient", EVERY["clip_norm limit=1.0"], worked=True)
    (finding,) = explode()[0].findings
    assert finding.problem == "large_gradient"
    slower, clip = finding.suggestions
    assert (slower.code, slower.confidence) == ("learning_rate *= 0.5", 0.9)
    assert (clip.code, clip.confidence, clip.kind) == ("grad_clip = 1.0", 0.8, "gradient_control")
    alike = ("large_gradient", "exploding_gradient", "learning_rate_too_high")
    measured = [odds(name, EVERY["clip_norm limit=1.0"]) for name in alike]
    assert clip.odds == sum(measured, Odds())
    assert all(each.tried for each in measured)


def test_what_step_returns_has_the_suggestions_too() -> None:
    seen: list[Finding] = []
    doctor, returned = explode(on_finding=seen.append)
    assert returned == seen == doctor.findings
    assert [each.code for each in seen[0].suggestions] == [
        "learning_rate *= 0.5",
        "grad_clip = 1.0",
    ]


def test_the_chart_and_json_keep_them(tmp_path: Path) -> None:
    doctor, _ = explode(chart=tmp_path / "run")
    doctor.close()
    assert sickbay.Chart.open(tmp_path / "run").findings() == doctor.findings
    written = json.loads(json.dumps(asdict(doctor.findings[0])))
    assert written["suggestions"][0]["code"] == "learning_rate *= 0.5"
    assert written["suggestions"][0]["confidence"] == 0.9
    assert set(written["suggestions"][0]["odds"]) == {"worked", "tried"}


def test_they_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    explode(on_finding="advise")
    said = capsys.readouterr().err
    assert "try  multiply the learning rate by 0.5  (stated confidence 0.9; " in said
    assert "       grad_clip = 1.0\n" in said


def test_own_remedies_replace_the_published_suggestions() -> None:
    (finding,) = explode(remedies=[ClipNorm(limit=3.0)])[1]
    assert [each.remedy for each in finding.suggestions] == ["clip_norm limit=3.0"]


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        pytest.param([7], ["0.5"], id="once"),
        pytest.param([7, 7 + WINDOW - 1], ["0.5", "0.25"], id="again-in-the-window"),
        pytest.param([7, 7 + WINDOW], ["0.5", "0.5"], id="again-after-it"),
        pytest.param([0, 40, 80, 120], ["0.5", "0.25", "0.125", "0.125"], id="again-and-again"),
        pytest.param([0, 40, 200], ["0.5", "0.25", "0.5"], id="starts-anew"),
    ],
)
def test_it_escalates(steps: list[int], codes: list[str]) -> None:
    adviser = Adviser([LargeGradient()])
    found = [adviser.advise(Finding(problem="large_gradient", step=step)) for step in steps]
    assert [each.suggestions[0].code for each in found] == [f"learning_rate *= {x}" for x in codes]


def test_a_problem_of_validations_counts_them() -> None:
    adviser = Adviser([Overfitting()])
    places = [(1000, 1), (2000, 2)]
    found = [
        adviser.advise(Finding(problem="overfitting", step=step, epoch=epoch))
        for step, epoch in places
    ]
    assert found[1].suggestions[0].code == "dropout = min(dropout + 0.2, 0.5)"


def test_each_problem_of_the_profile_suggests_something_at_every_time() -> None:
    for problem in PROFILES["training_doctor"]:
        for times in range(1, 6):
            made = problem.suggest(times)
            assert made, problem.name()
            assert all(each.code for each in made)
            assert [each.priority for each in made] == sorted(each.priority for each in made)
            assert all(not each.remedy or each.remedy in EVERY for each in made)


def test_other_profiles_suggest_the_remedies_that_worked_best() -> None:
    finding = Adviser([DeadUnits()]).advise(Finding(problem="dead_units", step=0))
    chances = [each.odds.mean for each in finding.suggestions if each.odds]
    assert len(chances) == len(finding.suggestions) == 3
    assert chances == sorted(chances, reverse=True)
    assert all(each.confidence is None and each.remedy in EVERY for each in finding.suggestions)


def test_without_a_remedy_the_general_advice_is_suggested() -> None:
    finding = Adviser([NoRecentGain()]).advise(Finding(problem="no_recent_gain", step=0))
    assert finding.suggestions == (Suggestion(words=NoRecentGain.advice),)


@pytest.mark.parametrize(
    ("history", "first"),
    [
        pytest.param(History(Setup(loss="mse"), pull=[-1.0] * 3), True, id="seen"),
        pytest.param(History(Setup(wrong_sign=True)), True, id="called"),
        pytest.param(History(Setup(loss="l1", task="multiclass")), False, id="other"),
    ],
)
def test_a_loss_with_the_wrong_sign_needs_no_other_loss(history: History, first: bool) -> None:
    finding = ImproperLoss().check(history)
    assert finding is not None
    best, *others = Adviser([ImproperLoss()]).advise(finding).suggestions
    assert (best.words.startswith("remove the minus"), best.code == "loss = -loss") == (first,) * 2
    assert others or not first
    chosen = Adviser([ImproperLoss()], choose(["change_loss"])).advise(finding).suggestions
    assert [each.remedy for each in chosen] == ["change_loss"]


def test_small_and_large_gradients_have_the_published_remedies() -> None:
    remedies = choose(None)
    assert remedies["small_gradient"][0].key == "scale_learning_rate factor=2.0"
    assert remedies["large_gradient"][0].key == "halve_learning_rate"


@pytest.mark.parametrize(
    ("suggestion", "text"),
    [
        pytest.param(Suggestion(words="rest"), "rest", id="words"),
        pytest.param(Suggestion(words="rest", odds=Odds()), "rest  (not tried yet)", id="untried"),
        pytest.param(
            Suggestion(words="rest", confidence=0.7), "rest  (stated confidence 0.7)", id="stated"
        ),
    ],
)
def test_as_text(suggestion: Suggestion, text: str) -> None:
    assert str(suggestion) == text
