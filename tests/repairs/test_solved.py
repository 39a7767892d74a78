"""What `fit` calls solved, on real training runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.findings import Finding
from sickbay.remedies import Remedy


def rings(count: int = 600) -> tuple[Tensor, Tensor]:
    """Return points on two rings, which no line separates."""
    own = torch.Generator().manual_seed(0)
    x = torch.randn(count, 2, generator=own)
    return x, (x.norm(dim=1) > 1.2).long()


def deep() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))


@dataclass(frozen=True, kw_only=True)
class Deepen(Remedy):
    """Use a model that can learn it."""

    treats = ("underfitting",)

    def prescribe(self, _finding: Finding, recipe: sickbay.Recipe) -> sickbay.Recipe | None:
        model = deep()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        return recipe.but("model = deep()", model=model, optimizer=optimizer)


def fitted(model: nn.Module, **more: Any) -> sickbay.repairs.Outcome:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    given = {"epochs": 10, "seed": 0, "progress": False, **more}
    loss = nn.CrossEntropyLoss()
    return sickbay.fit(model, rings(), loss=loss, optimizer=optimizer, **given)


def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(2, 2)


def test_a_run_that_reaches_what_is_possible_is_healthy() -> None:
    outcome = fitted(deep())
    assert outcome.solved
    assert outcome.epochs == 10
    assert {each.severity for each in outcome.findings} <= {"info"}
    assert outcome.reference is not None
    assert outcome.reference > 0.9
    assert outcome.summary().startswith("healthy: ")


def test_a_run_that_falls_short_is_not_solved() -> None:
    # Clipping is no remedy for that.
    outcome = fitted(linear(), remedies=["clip_norm"], problems=["underfitting"])
    assert not outcome.solved
    assert [each.problem for each in outcome.findings] == ["underfitting"]
    assert [each.result for each in outcome.attempts] == ["underfitting"]
    assert outcome.epochs == 10
    assert outcome.summary().startswith("not solved: ")


def test_the_cause_is_told_in_its_place() -> None:
    outcome = fitted(linear(), remedies=[])  # no line does better than a constant answer
    assert [each.problem for each in outcome.findings] == ["not_learning"]
    assert [each.result for each in outcome.attempts] == ["underfitting"]
    assert not outcome.solved


def test_a_remedy_for_it_is_tried_at_the_end_of_the_run() -> None:
    outcome = fitted(linear(), remedies=[Deepen()], problems=["underfitting"])
    assert outcome.solved
    assert [each.result for each in outcome.attempts] == ["underfitting", "healthy"]
    assert outcome.attempts[0].epochs == 10
    assert isinstance(outcome.model, nn.Sequential)


def test_a_target_that_is_reached_is_enough() -> None:
    assert fitted(linear(), target=0.4).solved


def test_the_paper_s_strategy_has_its_own_solved_and_the_same_scores() -> None:
    outcome = fitted(linear(), strategy="autotrainer", problems=["non_finite"])
    assert outcome.solved
    assert outcome.reference == fitted(deep()).reference


@pytest.mark.parametrize("remedies", [["clip_norm"], [Deepen()]])
def test_a_resumed_repair_comes_to_the_same_end(tmp_path: Path, remedies: Any) -> None:
    first = fitted(linear(), remedies=remedies, chart=tmp_path / "run")
    again = fitted(linear(), remedies=remedies, chart=tmp_path / "run", resume=True)
    assert first.as_json() == again.as_json()
    assert first.as_json()["reference"] == first.reference


def test_yardsticks_change_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = fitted(deep())
    from sickbay.problems.shared.yardsticks import Yardstick
    from sickbay.repairs.yardsticks import measure

    monkeypatch.setattr(measure.Yardsticks, "of", lambda *_: Yardstick())
    plain = fitted(deep())
    assert plain.reference is None
    for name, weight in measured.model.state_dict().items():
        assert weight.equal(plain.model.state_dict()[name])


def test_the_outcome_says_whether_samples_were_held_out() -> None:
    outcome = fitted(deep(), epochs=2)
    assert outcome.held_out
    assert "on the training data" not in outcome.summary()
    model, few = deep(), rings(40)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss()
    outcome = sickbay.fit(model, few, loss=loss, optimizer=optimizer, epochs=2, progress=False)
    assert not outcome.held_out
    assert outcome.as_json()["held_out"] is False
    assert "now on the training data" in outcome.summary().splitlines()[0]
