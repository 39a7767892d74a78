"""Whether more epochs should pay, and what a repair spends on a run that only falls short."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from sickbay.findings import Finding
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.going_on import forecast, pays
from tests.repairs.scripted import AS_GIVEN, Change, Continue, GoOn, Race, learns

WANTED = Yardstick(constant=0.3, reference=0.9, metric="val_accuracy")
LOSSES = Yardstick(constant=-1.0, metric="val_loss")
SHORT = Finding(problem="underfitting", step=1, message="it falls short")
FALLING = Finding(problem="still_falling", severity="info", step=1, message="it falls")


@pytest.mark.parametrize(
    ("values", "more", "expected"),
    [
        pytest.param([0.1, 0.2, 0.3, 0.4], 4, 0.8, id="steady"),
        pytest.param([0.0, 0.4, 0.6, 0.7], 2, 0.775, id="slowing-down"),
        pytest.param([0.0, 0.1, 0.2, 0.4], 2, 0.8, id="faster-and-faster"),
        pytest.param([0.0, 0.4, 0.7, 0.7], 9, 0.7, id="flat"),
        pytest.param([0.0, 0.7, 0.8, 0.5], 9, 0.8, id="it-was-better"),
        pytest.param([0.0, 0.5, 0.7], 9, inf, id="too-short-to-tell"),
    ],
)
def test_the_forecast(values: list[float], more: int, expected: float) -> None:
    assert forecast(values, more) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "held", "expected"),
    [
        pytest.param([0.4, 0.6, 0.7, 0.8], WANTED, True, id="up-to-the-reference"),
        pytest.param([0.4, 0.5, 0.55, 0.58], WANTED, False, id="not-even-half-the-way"),
        pytest.param([0.3, 0.42, 0.54, 0.65], WANTED, True, id="half-the-way"),
        pytest.param([0.3, 0.3, 0.3, 0.3], WANTED, True, id="nothing-learnt-yet"),
        pytest.param([0.4, 0.5], WANTED, True, id="too-short-to-tell"),
        pytest.param([-0.9, -0.8, -0.7, -0.6], LOSSES, True, id="a-falling-loss"),
        pytest.param([-0.9, -0.7, -0.62, -0.6], LOSSES, False, id="a-loss-near-its-end"),
        pytest.param([0.4, 0.6, 0.7, 0.8], Yardstick(sought=True), True, id="unknown"),
        pytest.param([0.4, 0.7, 0.8, 0.8], Yardstick(sought=True), False, id="unknown-and-flat"),
    ],
)
def test_whether_more_epochs_pay(values: list[float], held: Yardstick, expected: bool) -> None:
    name, sign = ("val_loss", -1) if held is LOSSES else ("val_accuracy", 1)
    assert pays(held, [{name: sign * each} for each in values], 2) is expected


def curve(*scores: float, **more: Any) -> Any:
    """Return a run with these scores, up to the epochs that it has trained."""

    def script(epochs: float) -> Any:
        some = scores[: max(1, int(epochs))]
        rows = [{"val_accuracy": each} for each in some]
        return learns(max(some), **{**more, "scores": rows})(epochs)

    return script


FLAT = (0.3, 0.5, *[0.6] * 8)


def race(monkeypatch: pytest.MonkeyPatch, scripts: Any, *remedies: Any, **more: Any) -> Race:
    odds = {each.key: 0.5 for each in remedies}
    return Race(monkeypatch, scripts, odds, list(remedies), yardstick=WANTED, **more)


@pytest.mark.parametrize("rising", [True, False])
def test_a_run_goes_on_only_if_that_should_pay(
    monkeypatch: pytest.MonkeyPatch, rising: bool
) -> None:
    scores = [0.3 + 0.05 * each for each in range(10)] if rising else FLAT
    given = curve(*scores, finding=SHORT, findings=[FALLING, SHORT])
    done = race(monkeypatch, {AS_GIVEN: given, "on": learns(0.95)}, GoOnTwice("on"))
    assert ("on" in done.results) is rising


class GoOnTwice(GoOn):
    """Go on for as long again."""

    def prescribe(self, _finding: Finding, recipe: Any) -> Any:
        return recipe.but(f"# {self.what}", epochs=20)


@pytest.mark.parametrize(
    ("remedy", "early", "budget", "expected"),
    [
        pytest.param(Change("a"), 0.4, 20, True, id="ahead-of-the-same-epoch"),
        pytest.param(Change("a"), 0.3, 20, False, id="not-ahead"),
        pytest.param(Change("a"), 0.3, 60, True, id="within-the-usual-budget"),
        pytest.param(Continue("a"), 0.59, 20, False, id="not-ahead-of-the-end"),
        pytest.param(Continue("a"), 0.61, 20, True, id="ahead-of-the-end"),
    ],
)
def test_a_run_beyond_the_usual_budget_must_be_ahead(
    monkeypatch: pytest.MonkeyPatch, remedy: Change, early: float, budget: float, expected: bool
) -> None:
    scripts = {
        AS_GIVEN: curve(*FLAT, finding=SHORT),
        "a": curve(early, *[0.95] * 20, start={"val_accuracy": 0.0}),
    }
    done = race(monkeypatch, scripts, remedy, budget=budget, most=60)
    assert done.results["a"] == ("healthy" if expected else "slower")
    assert done.outcome.solved is expected


def test_only_what_a_run_shows_is_treated_where_nobody_knows_what_is_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = curve(*FLAT, findings=[FALLING])
    scripts = {AS_GIVEN: given, "general": learns(0.95), "shown": learns(0.95)}
    done = Race(
        monkeypatch, scripts, {"shown": 0.5, "general": 0.5}, [Change("general")],
        shown=[Change("shown")], yardstick=Yardstick(constant=0.3, metric="val_accuracy"),
    )  # fmt: skip
    assert list(done.results) == ["", "shown"]
