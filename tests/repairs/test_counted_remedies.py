"""Which remedies of a repair count as having worked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sickbay.findings import Finding
from sickbay.problems.shared.yardsticks import Yardstick
from tests.repairs.scripted import AS_GIVEN, FOUND, Race, at, learns

HELD = Yardstick(constant=0.3, metric="val_accuracy", samples=500)


@pytest.mark.parametrize(
    ("score", "held", "worked"),
    [
        pytest.param(0.5, HELD, True, id="above-the-constant"),
        pytest.param(0.33, HELD, False, id="by-chance"),
        pytest.param(0.34, replace(HELD, samples=50_000), True, id="more-than-chance"),
        pytest.param(0.33, replace(HELD, samples=50_000), False, id="a-trifle"),
        pytest.param(0.2, HELD, False, id="below"),
        pytest.param(0.11, Yardstick(), True, id="above-the-parent"),
        pytest.param(0.1, Yardstick(), False, id="as-the-parent"),
    ],
)
def test_a_remedy_that_led_to_nothing_has_not_worked(
    monkeypatch: pytest.MonkeyPatch, score: float, held: Yardstick, worked: bool
) -> None:
    done = Race(monkeypatch, {"a": learns(score)}, {"a": 0.5}, yardstick=held)
    assert done.counts[0] == ("a", worked)


def test_a_score_that_is_a_wrong_loss_is_no_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Finding(problem="improper_loss", step=1)
    given = at(0.9, scores=[{"val_loss": -0.9}], finding=FOUND, findings=[wrong])
    done = Race(monkeypatch, {AS_GIVEN: given, "a": learns(0.5)}, {"a": 0.5})
    assert done.counts == [("a", True)]
