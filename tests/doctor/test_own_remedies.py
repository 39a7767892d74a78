"""Remedies that the user passes to `watch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.recipe import Recipe
from sickbay.remedies import ClipNorm, Remedy
from tests.doctor.treated import learn, regression


@dataclass(frozen=True, kw_only=True)
class Restless(Problem):
    """The run has made ten steps."""

    advice = "take a rest"

    def check(self, history: History) -> Finding | None:
        if history.step < 10:
            return None
        return Finding(problem=self.name(), step=history.step, message="ten steps")


@dataclass(frozen=True, kw_only=True)
class Rest(Remedy):
    """Divide the learning rate by four."""

    treats = ("restless",)
    safety = "live"

    def prescribe(self, finding: Finding, recipe: Recipe) -> Recipe | None:  # noqa: ARG002
        return recipe.with_lr(0.25 * recipe.lr, "lr = 0.25 * lr")


def train(**options: Any) -> sickbay.Doctor:
    torch.manual_seed(0)
    model = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    doctor = sickbay.watch(model, optimizer, problems=[Restless()], every=1, **options)
    learn(model, optimizer, doctor, steps=20)
    return doctor


def test_without_own_remedies_the_general_advice_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    train()
    assert "take a rest" in capsys.readouterr().err


def test_own_remedies_are_advised(capsys: pytest.CaptureFixture[str]) -> None:
    train(remedies=[Rest()])
    said = capsys.readouterr().err
    assert "divide the learning rate by four  (not tried yet)" in said
    assert "take a rest" not in said


def test_own_remedies_treat() -> None:
    doctor = train(remedies=[Rest()], on_finding="treat")
    assert [each.remedy for each in doctor.treatments] == ["rest"]


def test_only_the_remedies_that_were_passed_are_used() -> None:
    doctor = train(remedies=[ClipNorm()], on_finding="treat")
    assert doctor.treatments == []


@pytest.mark.parametrize(
    ("remedies", "message"),
    [
        pytest.param("clip_norm", "remedies must be a list", id="a-string"),
        pytest.param([3], "remedies must be a list", id="a-number"),
        pytest.param(["clip_nrom"], "clip_norm", id="a-typing-error"),
    ],
)
def test_wrong_remedies(remedies: Any, message: str) -> None:
    model = nn.Linear(2, 1)
    with pytest.raises(sickbay.UsageError, match=message):
        sickbay.watch(model, remedies=remedies)
