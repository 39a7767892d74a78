"""What excuses a run that falls short, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sickbay.findings import Finding
from sickbay.problems.shared.yardsticks import Yardstick
from tests.repairs.scripted import (
    AS_GIVEN,
    FOUND,
    ILL,
    TO_THE_END,
    Race,
    Scripts,
    at,
    learns,
)

SHORT = Finding(problem="underfitting", step=1, message="it falls short")
HINT = Finding(problem="plateau", severity="info", step=1, message="it is flat")
FALLING = Finding(problem="still_falling", severity="info", step=1, message="it falls")
WANTED = Yardstick(constant=0.3, reference=0.9, metric="val_accuracy")


def falls_short(score: float, **more: Any) -> Any:
    return learns(score, finding=SHORT, **more)


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a race whose runs are held against 0.3 and 0.9, with remedies for falling short."""

    def start(scripts: Scripts, odds: Mapping[str, float], **more: Any) -> Race:
        return Race(monkeypatch, scripts, odds, **{"yardstick": WANTED, **more})

    return start


@pytest.mark.parametrize(
    ("problem", "metric", "score"),
    [
        pytest.param("improper_loss", "val_loss", -0.5, id="misled"),
        pytest.param("loss_spike", "val_loss", 9.0, id="another-problem"),
        pytest.param("improper_loss", "val_accuracy", 9.0, id="not-a-loss"),
    ],
)
def test_an_improper_loss_is_no_score(
    measuring: Any, problem: str, metric: str, score: float
) -> None:
    found = Finding(problem=problem, step=1, message="it is wrong")
    given = at(9.0, start={metric: 9.5}, scores=[{metric: -9.0}], finding=FOUND, findings=[found])
    mended = at(-0.5, start={"val_loss": 2.0}, scores=[{"val_loss": 0.5}])
    done = measuring({AS_GIVEN: given, "a": mended}, {"a": 0.95}, yardstick=Yardstick(sought=True))
    assert done.search.best.progress.score == score


def test_few_samples_are_no_reason_to_go_on(measuring: Any) -> None:
    held = replace(WANTED, samples=30)
    scripts = {AS_GIVEN: ILL, "a": learns(0.9), "b": learns(0.95)}
    done = measuring(scripts, {"a": 0.95, "b": 0.5}, yardstick=held, budget=25, most=60)
    assert [each.remedy for each in done.outcome.attempts] == ["", "a"]
    assert not done.outcome.solved
    assert done.search.budget == 25


def test_wrong_labels_are_no_reason_to_go_on(measuring: Any) -> None:
    held = replace(WANTED, trained=0.6)
    done = measuring({AS_GIVEN: ILL, "a": learns(0.9)}, {"a": 0.95}, yardstick=held)
    assert [each.remedy for each in done.outcome.attempts] == ["", "a"]
    assert not done.outcome.solved
    assert "as if labels were wrong" in done.outcome.summary()


@pytest.mark.parametrize(("score", "runs"), [(0.86, ["", "a"]), (0.84, ["", "a", "b"])])
def test_few_samples_excuse_no_distance(measuring: Any, score: float, runs: list[str]) -> None:
    held = replace(WANTED, samples=30)  # on which 0.84 is within a standard error of 0.9
    scripts = {AS_GIVEN: ILL, "a": learns(score), "b": learns(0.95)}
    done = measuring(scripts, {"a": 0.95, "b": 0.94}, yardstick=held)
    assert list(done.results) == runs


def test_the_loss_before_training_is_no_score_either(measuring: Any) -> None:
    found = Finding(problem="improper_loss", step=1, message="it is wrong")
    loss = {"start": {"val_loss": -9.5}, "scores": [{"val_loss": -9.0}]}
    given = at(9.0, finding=FOUND, findings=[found], **loss)
    done = measuring({AS_GIVEN: given, TO_THE_END: at(0.1)}, {}, yardstick=Yardstick(sought=True))
    assert done.outcome.score == 0.1


@pytest.mark.parametrize(("score", "runs"), [(0.82, 1), (0.7, 2)])
def test_a_sound_run_may_be_well_below_an_exact_reference(
    measuring: Any, score: float, runs: int
) -> None:
    held = replace(WANTED, exact=True)
    done = measuring({AS_GIVEN: learns(score), "a": learns(0.88)}, {"a": 0.5}, yardstick=held)
    assert len(done.outcome.attempts) == runs
