"""Why a repair is not called solved, what it lists as found, and what it says on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.console import Console
from sickbay.errors import Declined, Needless
from sickbay.findings import Finding
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.journal import Journal
from tests.repairs.scripted import AS_GIVEN, FOUND, OTHER, Change, Race, Scripts, at, learns

HELD = Yardstick(constant=0.3, reference=0.9, metric="val_accuracy", samples=1000)
NOISY = Finding(problem="noisy_labels", step=1)
SHORT = Finding(problem="underfitting", step=1)
HINT = Finding(problem="wide_scale", severity="info", step=1)
FALLING = Finding(problem="still_falling", severity="info", step=1)


@pytest.mark.parametrize(
    ("script", "held", "doubt"),
    [
        pytest.param(learns(0.9), HELD, "", id="solved"),
        pytest.param(learns(0.31), HELD, "hardly better than a constant answer", id="constant"),
        pytest.param(learns(0.7), HELD, "below the quick reference", id="reference"),
        pytest.param(
            learns(0.9), Yardstick(0.3, 0.9, "val_accuracy", 20), "only 20 held-out samples",
            id="few-samples",
        ),
        pytest.param(
            learns(0.9), Yardstick(0.3, 0.9, "val_accuracy", 999, trained=0.5), "labels look wrong",
            id="labels",
        ),
        pytest.param(learns(0.9), Yardstick(sought=True), "is not known", id="unknown"),
        pytest.param(learns(0.9, findings=[NOISY]), HELD, "noisy labels stands", id="warned"),
        pytest.param(learns(0.9, findings=[FALLING]), HELD, "", id="falling-at-the-reference"),
        pytest.param(
            learns(0.9, findings=[FALLING]), replace(HELD, reference=None),
            "the loss was still falling", id="falling-without-a-reference",
        ),
        pytest.param(learns(0.9, findings=[SHORT]), HELD, "", id="it-came-further-since"),
    ],
)  # fmt: skip
def test_a_run_that_is_not_solved_says_why(
    monkeypatch: pytest.MonkeyPatch, script: Any, held: Yardstick, doubt: str
) -> None:
    outcome = Race(monkeypatch, {AS_GIVEN: script}, {}, yardstick=held).outcome
    assert outcome.solved is (doubt == "")
    assert outcome.doubt.endswith(doubt)
    assert outcome.summary().splitlines()[0].endswith(outcome.doubt)
    assert outcome.as_json()["doubt"] == outcome.doubt


@pytest.mark.parametrize(
    ("found", "doubt"),
    [
        pytest.param(NOISY, "noisy labels stands", id="of-the-data"),
        pytest.param(OTHER, "training did not come to its end", id="overcome"),
    ],
)
def test_data_stay_as_bad_as_an_earlier_run_found_them(
    monkeypatch: pytest.MonkeyPatch, found: Finding, doubt: str
) -> None:
    ill = at(0.1, start={"val_accuracy": 0.1}, finding=FOUND, findings=[FOUND, found])
    cut = learns(0.9, stopped=False, finding=OTHER)
    outcome = Race(
        monkeypatch, {AS_GIVEN: ill, "a": cut}, {"a": 0.5}, yardstick=HELD, budget=25.0
    ).outcome
    assert (outcome.solved, outcome.doubt) == (False, doubt)


def test_what_a_failed_trial_found_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    scripts: Scripts = {
        AS_GIVEN: at(0.1, start={"val_accuracy": 0.1}, finding=FOUND, findings=[FOUND]),
        "a": learns(0.2, finding=OTHER, findings=[OTHER]),
        "b": learns(0.5, findings=[HINT]),
    }
    outcome = Race(monkeypatch, scripts, {"a": 0.5, "b": 0.5}).outcome
    assert [each.number for each in outcome.attempts] == [0, 1, 2]
    assert list(outcome.findings) == [FOUND, HINT]


@dataclass(frozen=True)
class Refuse(Change):
    """Change nothing."""

    needless: bool = False

    def prescribe(self, _finding: Finding, _recipe: sickbay.Recipe) -> sickbay.Recipe:
        raise (Needless if self.needless else Declined)("It is so.")


@pytest.mark.parametrize("needless", [False, True])
def test_only_a_remedy_that_could_help_is_missed(
    monkeypatch: pytest.MonkeyPatch, needless: bool
) -> None:
    said: list[str] = []
    monkeypatch.setattr(Journal, "say", lambda _, line: said.append(line))
    Race(monkeypatch, {}, {"a": 0.5}, [Refuse("a", needless)])
    assert ("cannot change nothing: It is so." in said) is not needless


def told(optimizer: torch.optim.Optimizer, model: nn.Module) -> str:
    console, x = Console(file=StringIO(), width=200), torch.rand(64, 2)
    sickbay.fit(
        model, (x, x[:, :1]), loss=nn.MSELoss(), optimizer=optimizer, epochs=1, console=console
    )  # fmt: skip
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_hooks_of_an_optimizer_are_left_out_with_a_word() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert "hooks" not in told(optimizer, model)
    with sickbay.watch(model, optimizer):
        assert "hooks" not in told(optimizer, model)
    optimizer.register_step_pre_hook(lambda *_: None)
    assert "1 step hooks of the optimizer are left out" in told(optimizer, model)
