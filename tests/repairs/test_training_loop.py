"""One attempt: which epoch's weights are kept, and the epochs at the end that cool down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.problems import (
    ImproperInitialisation,
    LossSpike,
    Problem,
    ShapeBroadcast,
    StillFalling,
)
from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.recipe import Recipe
from sickbay.repairs.data import Data
from sickbay.repairs.going_on import is_rising, is_short
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import COOLDOWN_FACTOR, TrainingLoop, problems_of


def training_loop(cooldown: int = 0, epochs: int = 3) -> TrainingLoop:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    recipe = Recipe(model, nn.CrossEntropyLoss(), optimizer, epochs=epochs, cooldown=cooldown)
    x = torch.randn(400, 2)
    data = Data.of(
        (x[:300], (x[:300, 0] > 0).long()), (x[300:], (x[300:, 0] > 0).long()), batch_size=32
    )
    return TrainingLoop(recipe, data, RunSettings(problems=(), treatable=(), epochs=epochs))


def kept_after(training: TrainingLoop, *accuracies: float) -> float:
    """Return what the bias was at the epoch whose weights are kept; it is the accuracy then."""
    (_, bias) = training.live.model.parameters()
    for each in accuracies:
        with torch.no_grad():
            bias.fill_(each)
        training._keep_best({"val_accuracy": each})
    return float(training.best["bias"][0])


@pytest.mark.parametrize(
    ("accuracies", "kept"),
    [
        ((0.5, 0.9, 0.88), 0.88),  # of 100 samples that is chance
        ((0.5, 0.9, 0.8), 0.9),  # that is not
        ((0.9, 0.88, 0.86), 0.88),  # the best one is what counts, not the last that was kept
        ((0.9, 0.8, 0.95), 0.95),
    ],
)
def test_of_epochs_that_cannot_be_told_apart_the_last_is_kept(
    accuracies: tuple[float, ...], kept: float
) -> None:
    training = training_loop()
    assert kept_after(training, *accuracies) == pytest.approx(kept)
    assert training.progress().score == kept


def test_after_the_planned_epochs_it_cools_down() -> None:
    training = training_loop(cooldown=2)
    rates = []
    while not training.over:
        training.advance(1)
        rates.append(training.live.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx([0.5] * 3 + [0.5 * COOLDOWN_FACTOR] * 2)
    assert training.progress().epochs == 5


def test_a_cure_cools_down_and_says_so() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 2)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2), nn.Softmax(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    outcome = sickbay.fit(
        model, (x, y), loss=nn.CrossEntropyLoss(), optimizer=optimizer, epochs=10, progress=False
    )
    assert outcome.solved
    assert outcome.recipe.cooldown == 2
    assert "+ cooldown = 2" in outcome.diff
    assert len(outcome.history) == 12


@pytest.mark.parametrize("strategy", ["race", "autotrainer"])
def test_a_recipe_that_cools_down_is_trained_whole(strategy: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 2)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    recipe = Recipe(model, nn.CrossEntropyLoss(), optimizer, epochs=6, cooldown=3)
    data = (x, (x[:, 0] > 0).long())
    outcome = sickbay.repair(recipe, data, strategy=strategy, progress=False)
    assert len(outcome.history) == 9


def test_what_is_healthy_does_not() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 2)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    recipe = Recipe(
        model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=0.01), epochs=10
    )
    outcome = sickbay.repair(recipe, (x, (x[:, 0] > 0).long()), progress=False)
    assert outcome.diff == "no change"
    assert len(outcome.history) == 10


def test_what_is_worse_than_the_model_as_given_is_not_returned() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 2)
    y = (x[:, 0] > 0).long()
    spoilt = x.clone()
    spoilt[::5] = torch.nan
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    before = [each.clone() for each in model.parameters()]
    outcome = sickbay.fit(
        model, (spoilt, y), validation=(x, y), loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters()), epochs=2, progress=False,
        remedies=["clip_norm"],
    )  # fmt: skip
    assert not outcome.solved
    assert outcome.score == outcome.before > 0
    assert all(map(torch.equal, outcome.model.parameters(), before))
    assert outcome.diff == "no change"


def test_the_diff_says_which_parameters_are_held() -> None:
    model = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 2))
    some = Recipe(model, nn.MSELoss(), torch.optim.SGD(model[1].parameters(), lr=0.1))
    whole = Recipe(model, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1))
    assert some.diff(whole).splitlines() == [
        "- optimizer = torch.optim.SGD(2 of 4 parameters, lr=0.1)",
        "+ optimizer = torch.optim.SGD(model.parameters(), lr=0.1)",
    ]


def test_a_run_that_is_not_there_yet_is_begun(tmp_path: Path) -> None:
    training = training_loop()
    outcome = sickbay.repair(
        training.recipe, (torch.randn(80, 2), torch.zeros(80).long()), progress=False,
        chart=tmp_path / "new", resume=True,
    )  # fmt: skip
    assert outcome.chart == tmp_path / "new"


def slow(start: bool = False, **more: Any) -> TrainingLoop:
    """Return a loop whose loss falls slowly, and then not at all as it cools down."""
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=more.pop("lr", 3e-4))
    recipe = Recipe(model, nn.MSELoss(), optimizer, epochs=20, cooldown=20)
    x = torch.randn(320, 2)
    data = Data.of((x, x @ torch.tensor([[3.0], [2.0]])), batch_size=32)
    settings = RunSettings(**{"problems": [], "treatable": (), "epochs": 20, **more})
    return TrainingLoop(recipe, data, settings, model.state_dict() if start else None)


@pytest.mark.parametrize(
    ("lr", "problems", "falls"),
    [
        pytest.param(3e-4, [StillFalling()], True, id="slow"),
        pytest.param(0.1, [StillFalling()], False, id="fast"),
        pytest.param(3e-4, [], False, id="not-looked-for"),
    ],
)
def test_a_cooldown_does_not_hide_that_the_loss_was_falling(
    lr: float, problems: list[Problem], falls: bool
) -> None:
    training = slow(lr=lr, problems=problems)
    training.advance(20)
    assert training.progress().findings == []  # it does not cool down yet
    found = training.advance(20).findings
    assert [each.problem for each in found] == ["still_falling"] * falls


@pytest.mark.parametrize(("done", "epochs"), [(0, 20), (12, 8), (30, 1)])
def test_epochs_that_the_weights_have_had_count(done: int, epochs: int) -> None:
    training = slow(done=done)
    training.advance(100)
    assert training.progress().epochs == epochs + 20  # of cooldown


@pytest.mark.parametrize("start", [False, True])
def test_trained_weights_are_not_judged_as_initial_ones(start: bool) -> None:
    training = slow(start, problems=[ImproperInitialisation(), LossSpike()])
    judged = {each.name() for each in problems_of(training.live, training.settings)}
    assert judged == {"loss_spike"} | ({"improper_initialisation"} if not start else set())


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        pytest.param("val_accuracy", (0.5, 0.6, 0.7, 0.72), True, id="rising"),
        pytest.param("val_accuracy", (0.5, 0.6, 0.7, 0.705), False, id="hardly"),
        pytest.param("val_accuracy", (0.5, 0.8, 0.7, 0.75), False, id="it-was-better"),
        pytest.param("val_loss", (2.0, 1.5, 1.2, 1.1), True, id="a-falling-loss"),
        pytest.param("val_loss", (2.0, 1.5, 1.2, 1.195), False, id="a-loss-at-rest"),
        pytest.param("val_loss", (float("nan"), 1.5), True, id="nan-before"),
        pytest.param("val_accuracy", (0.5,), True, id="one-epoch"),
    ],
)
def test_only_a_score_that_rises_is_worth_going_on(
    name: str, values: tuple[float, ...], expected: bool
) -> None:
    assert is_rising([{name: each} for each in values]) is expected


def test_a_loss_that_falls_on_training_data_only_has_come_to_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = slow()
    monkeypatch.setattr(training, "_evaluate", lambda: {"val_loss": 1.0, "val_score": 0.5})
    assert training.advance(40).findings == []


@pytest.mark.parametrize(
    ("reference", "expected"), [(0.9, False), (0.949, False), (0.96, True), (None, True)]
)
def test_only_below_the_reference_it_is_worth_going_on(
    reference: float | None, expected: bool
) -> None:
    held = Yardstick(constant=0.1, reference=reference, metric="val_accuracy")
    assert is_short(held, 0.9) is expected


def test_a_run_that_is_good_enough_may_cool_down_early() -> None:
    held = Yardstick(constant=0.0, reference=-0.9, metric="val_score")
    assert slow(yardstick=held).advance(40).findings == []


def chosen_value(outputs: Tensor, logged: Tensor) -> Tensor:
    return (outputs.gather(1, logged[:, :1].long())[:, 0] - logged[:, 1]).square().mean()


def test_targets_that_only_choose_an_output_are_not_compared_with_all_of_them() -> None:
    model = nn.Linear(3, 4)
    recipe = Recipe(model, chosen_value, torch.optim.SGD(model.parameters(), lr=0.01), epochs=2)
    x, logged = torch.rand(40, 3), torch.stack([torch.arange(40) % 4, torch.rand(40)], 1)
    data = Data.of((x, logged), (x, logged), batch_size=8)
    settings = RunSettings(problems=[ShapeBroadcast()], treatable=(), epochs=2)
    assert TrainingLoop(recipe, data, settings).advance(2).findings == []
