"""What the bar shows."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import torch
from rich.console import Console

import sickbay
from sickbay.repairs.journal import Bar
from tests.repairs.test_fit import fit, healthy, sick
from tests.repairs.user_loops import recipe_of, step


class Screen(Console):
    """A terminal that can be read."""

    def __init__(self) -> None:
        self.text = io.StringIO()
        super().__init__(file=self.text, force_terminal=True, width=160, color_system=None)

    @property
    def bars(self) -> list[tuple[str, int, int, str]]:
        """What was in training, epochs done and in all, and the best score, as it was shown."""
        found = re.findall(
            r"([^\n\r━╸]+?) [━╸ ]+(\d+)/(\d+) epochs(?:, best score (\S+))?", self.plain
        )
        return [(name.strip(), int(done), int(total), best) for name, done, total, best in found]

    @property
    def plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text.getvalue())


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float, float, float]]:
    """Return a list that all that is shown is put into: a terminal shows only some of it."""
    told: list[tuple[str, float, float, float]] = []
    real = Bar.show

    def noted(bar: Bar, *what: Any) -> None:
        told.append(what)
        real(bar, *what)

    monkeypatch.setattr(Bar, "show", noted)
    return told


def test_a_healthy_training_fills_it(shown: list[Any]) -> None:
    screen = Screen()
    outcome = fit(healthy(), progress=True, console=screen)
    assert [(name, done, total) for name, done, total, _ in shown if done] == [
        *[("as given", epoch, 20) for epoch in range(1, 21)],
        ("as given", 20, 20),
    ]
    name, done, total, best = screen.bars[-1]
    assert (name, done, total) == ("as given", 20, 20)
    assert float(best) == pytest.approx(outcome.score, abs=1e-3)


@pytest.mark.parametrize("more", [{}, {"strategy": "autotrainer"}, {"budget": 8}], ids=str)
def test_a_repair_moves_it_in_every_attempt_and_never_beyond_its_end(
    more: dict[str, Any], shown: list[Any]
) -> None:
    screen = Screen()
    outcome = fit(sick(), progress=True, console=screen, **more)
    done = [each[1] for each in shown]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(outcome.epochs)
    if not more.get("budget"):
        assert all(done <= total <= done + 24 for _, done, total, _ in shown)  # it cools down
        assert shown[-1][1] == shown[-1][2]
    assert all(done <= total for _, done, total, _ in screen.bars)
    assert {name for name, *_ in shown} == {each.words for each in outcome.attempts}
    assert shown[-1][3] == max(each.score for each in outcome.attempts)


def test_a_loop_of_ones_own_moves_it(shown: list[Any]) -> None:
    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(4):
            step(recipe, doctor, torch.ones(4, 2), torch.ones(4, 1))
            doctor.epoch(val_accuracy=0.5)

    sickbay.repair(recipe_of(healthy(), epochs=4), train=train, console=Screen())
    assert [each[1] for each in shown] == [0, 1, 2, 3, 4, 4]


def test_it_never_shows_more_than_its_end() -> None:
    screen = Screen()
    bar = Bar(3, screen)
    bar.start()
    bar.show("a [red] name", 5.4, 3.0, float("-inf"))
    bar.stop()
    assert screen.bars[-1] == ("a [red] name", 5, 5, "")
