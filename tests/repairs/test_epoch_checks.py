"""Checks at the end of every few epochs: which steps are measured, and when problems are heard."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.repairs.epoch_checks import EpochChecks
from sickbay.vitals import Vitals


@dataclass(frozen=True, kw_only=True)
class Sick(Problem):
    """The loss is above 1."""

    advice = "train"

    def check(self, history: History) -> Finding | None:
        return self.found(history, "it is") if history.latest("loss") > 1 else None


class Failing(Sick):
    def check(self, _history: History) -> Finding | None:
        raise RuntimeError("broken")


def measured(checks: EpochChecks, epochs: list[int]) -> list[int]:
    """Return the steps that are measured in epochs of these lengths."""
    read, step = [], 0
    for length in epochs:
        for _ in range(length):
            if checks.reads(step):
                read.append(step)
            checks.add(Vitals(step=step))
            step += 1
        checks.end_epoch({})
    return read


@pytest.mark.parametrize(
    ("every", "steps", "epochs", "expected"),
    [
        pytest.param(3, 2, [2] * 7, [5, 11], id="last-step-of-every-third"),
        pytest.param(1, 2, [2] * 3, [1, 3, 5], id="of-every"),
        pytest.param(1, 1, [1] * 3, [0, 1, 2], id="epochs-of-one-step"),
        pytest.param(2, 1, [1] * 5, [1, 3], id="every-second-of-one-step"),
        pytest.param(2, None, [3] * 4, [5, 11], id="length-of-the-epoch-before"),
        pytest.param(1, None, [2] * 3, [0, 1, 3, 5], id="length-not-known"),
        pytest.param(2, 3, [4, 4, 4, 4], [7, 15], id="longer-than-expected"),
    ],
)
def test_the_last_step_of_a_checked_epoch_is_measured(
    every: int, steps: int | None, epochs: list[int], expected: list[int]
) -> None:
    assert measured(EpochChecks([], every, steps), epochs) == expected


def judged(losses: list[float], every: int = 1, problem: Problem | None = None) -> list[list[str]]:
    """Return what is reported after each epoch of one step with these losses."""
    checks, history, said = EpochChecks([problem or Sick()], every, 1), History(), []
    for step, loss in enumerate(losses):
        history.append(Vitals(step=step, scalars={"loss": loss}))
        assert not checks.judge(history).new  # within the epoch
        history.end_epoch()
        checks.end_epoch({})
        verdict = checks.judge(history)
        said.append([each.problem for each in verdict.new] + [f"-{name}" for name in verdict.gone])
    return said


@pytest.mark.parametrize(
    ("losses", "every", "expected"),
    [
        pytest.param([2.0, 0.5, 0.5], 1, [["sick"], ["-sick"], []], id="comes-and-goes"),
        pytest.param([2.0, 2.0], 1, [["sick"], []], id="reported-once"),
        pytest.param([2.0, 2.0, 0.5], 3, [[], [], []], id="gone-at-the-check"),
        pytest.param([0.5, 0.5, 2.0], 3, [[], [], ["sick"]], id="there-at-the-check"),
    ],
)
def test_problems_are_heard_at_the_checks_only(
    losses: list[float], every: int, expected: list[list[str]]
) -> None:
    assert judged(losses, every) == expected


def test_a_problem_that_fails_is_left_out() -> None:
    assert judged([2.0, 2.0], problem=Failing()) == [[], []]


def fit(lr: float = 0.01, **more: Any) -> sickbay.Outcome:
    """Train with a softmax too many, which the paper's rule minds while the accuracy is low."""
    torch.manual_seed(0)
    x = torch.randn(600, 8)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2), nn.Softmax(1))
    return sickbay.fit(
        model, (x, (x[:, 0] > 0).long()), loss=nn.CrossEntropyLoss(), epochs=6, progress=False,
        optimizer=torch.optim.Adam(model.parameters(), lr=lr),
        **{"strategy": "autotrainer"} | more,
    )  # fmt: skip


def test_what_was_bad_before_the_check_does_not_stop_a_run() -> None:
    outcome = fit()
    assert outcome.history[0]["accuracy"] < 0.85  # the first steps were worse than 0.7
    assert max(each["accuracy"] for each in outcome.history[:3]) > 0.7
    assert [each.result for each in outcome.attempts] == ["healthy"]
    assert not outcome.findings


def test_what_is_bad_at_the_check_stops_it_and_is_recorded(tmp_path: Any) -> None:
    outcome = fit(lr=1e-5, chart=tmp_path / "run", strategy=sickbay.AutoTrainer(check_every=2))
    first = outcome.attempts[0]
    assert (first.result, first.epochs) == ("improper_output", 2)
    assert outcome.findings[0].problem == "improper_output"
    assert outcome.findings[0].epoch == 2
    recorded = sickbay.Chart.open(tmp_path / "run" / "attempt-0").findings()
    assert [each.problem for each in recorded] == ["improper_output", "slow_convergence"]


def test_the_accuracy_that_is_expected_can_be_set() -> None:
    outcome = fit(strategy=sickbay.AutoTrainer(accuracy=1.0))
    assert outcome.attempts[0].result == "improper_output"


def test_problems_can_be_chosen_and_keep_their_own_thresholds() -> None:
    own = sickbay.problems.published.autotrainer.ImproperOutput(accuracy=1.0)
    assert fit(problems=[own]).attempts[0].result == "improper_output"
    assert fit(lr=1e-5, problems=["improper_loss"]).attempts[0].result == "healthy"
    strict = sickbay.AutoTrainer(accuracy=1.0)
    assert fit(problems=["improper_output"], strategy=strict).attempts[0].result != "healthy"


def test_problems_can_be_chosen_for_a_race() -> None:
    outcome = fit(strategy="race", problems=["loss_spike"])
    assert [each.result for each in outcome.attempts] == ["healthy"]
    assert fit(strategy="race").attempts[0].result == "double_activation"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"check_every": 0}, "check_every must be a whole number of at least 1, got 0."),
        ({"accuracy": -1}, "accuracy must be a finite number of at least 0, got -1."),
        ({"attempts": 0}, "attempts must be a whole number of at least 1, got 0."),
    ],
)
def test_invalid_settings_are_refused(given: dict[str, Any], error: str) -> None:
    with pytest.raises(sickbay.UsageError, match=error):
        sickbay.AutoTrainer(**given)


def test_an_own_loop_is_checked_by_its_epochs() -> None:
    torch.manual_seed(0)
    x = torch.randn(128, 2)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        for _ in range(recipe.epochs or 0):
            for rows in torch.split(torch.arange(128), 32):
                recipe.optimizer.zero_grad()
                loss = recipe.loss(recipe.model(x[rows]), y[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                recipe.optimizer.step()
                doctor.step(loss, accuracy=0.5)
            doctor.epoch(val_accuracy=0.5)

    recipe = sickbay.Recipe(model, nn.CrossEntropyLoss(), optimizer, epochs=6)
    outcome = sickbay.repair(recipe, train=train, strategy="autotrainer", progress=False)
    assert (outcome.attempts[0].result, outcome.attempts[0].epochs) == ("improper_output", 3)
