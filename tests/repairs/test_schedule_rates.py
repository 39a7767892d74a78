"""The rates of a schedule follow those of the recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from torch import nn
from torch.optim import SGD, Adagrad, Adam, Optimizer
from torch.optim import lr_scheduler as lrs

from sickbay.findings import Finding
from sickbay.recipe import Recipe
from sickbay.remedies import LowerOnPlateau
from tests.repairs.schedules import EPOCHS, KIND, one_cycle, rates_of, recipe, sgd
from tests.repairs.test_fit import healthy


@KIND
def test_half_the_rate_halves_the_whole_schedule(
    make: Callable[[Optimizer], lrs.LRScheduler], step: Any
) -> None:
    given = recipe(make, step)
    rates, halved = rates_of(given, EPOCHS), rates_of(given.with_lr(given.lr / 2), EPOCHS)
    assert halved[0] == pytest.approx(rates[0] / 2)
    if not isinstance(make(sgd(healthy())), lrs.ReduceLROnPlateau):  # it depends on what is learnt
        assert halved == pytest.approx([each / 2 for each in rates])


@pytest.mark.parametrize("kind", [Adam, Adagrad])
@KIND
def test_another_optimizer_gets_the_schedule(
    make: Callable[[Optimizer], lrs.LRScheduler], step: Any, kind: Any
) -> None:
    given = recipe(make, step)
    rates, other = rates_of(given, EPOCHS), given.with_optimizer(kind, lr=given.lr * 3)
    assert len(other.optimizer.param_groups) == 1
    tripled = rates_of(other, EPOCHS)
    assert tripled[0] == pytest.approx(rates[0] * 3)
    if not isinstance(make(sgd(healthy())), lrs.ReduceLROnPlateau):
        assert tripled == pytest.approx([each * 3 for each in rates])


def test_a_rate_of_nothing_becomes_the_new_one() -> None:
    model = healthy()
    optimizer = SGD(model.parameters(), lr=0.0)
    given = Recipe(
        model, nn.BCEWithLogitsLoss(), optimizer, scheduler=lrs.ExponentialLR(optimizer, 0.5)
    )
    assert rates_of(given.with_lr(0.1), 3) == pytest.approx([0.1, 0.05, 0.025])


def test_a_rate_that_was_set_later_becomes_the_new_one() -> None:
    model = healthy()
    optimizer = SGD(model.parameters(), lr=0.0)
    scheduler = lrs.ExponentialLR(optimizer, 0.5)
    optimizer.param_groups[0]["lr"] = 0.3
    given = Recipe(model, nn.BCEWithLogitsLoss(), optimizer, scheduler=scheduler)
    assert rates_of(given.with_lr(0.1), 2) == pytest.approx([0.1, 0.05])


def test_the_rate_of_an_earlier_schedule_is_forgotten() -> None:
    model = healthy()
    optimizer = SGD(model.parameters(), lr=0.1)
    lrs.ExponentialLR(optimizer, 0.5)  # writes its initial rate into the groups
    make = partial(lrs.LambdaLR, lr_lambda=lambda epoch: 0.5**epoch)
    given = Recipe(model, nn.BCEWithLogitsLoss(), optimizer, scheduler=make)
    assert rates_of(given.with_lr(0.2), 2) == pytest.approx([0.2, 0.1])


def test_momentum_is_cycled_as_the_optimizer_has_it() -> None:
    given = recipe(one_cycle, "batch").with_optimizer(Adam, lr=0.02)
    assert callable(given.scheduler)
    live = given.copy()
    scheduler = given.scheduler(live.optimizer)
    before = live.optimizer.param_groups[0]["betas"]
    live.optimizer.step()
    scheduler.step()
    after = live.optimizer.param_groups[0]["betas"]
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_the_scheduler_stops_where_the_cooldown_begins() -> None:
    given = replace(recipe(lambda made: lrs.ExponentialLR(made, 0.5)), cooldown=2)
    rates = rates_of(given, 3)
    assert rates == pytest.approx([0.01, 0.005, 0.0025, 0.00125, 0.000125])


def test_a_scheduler_that_has_begun_goes_on_from_there() -> None:
    model = healthy()
    optimizer = sgd(model)
    scheduler = lrs.StepLR(optimizer, 2, gamma=0.1)
    optimizer.step()
    for _ in range(3):
        scheduler.step()
    rates = rates_of(Recipe(model, nn.BCEWithLogitsLoss(), optimizer, scheduler=scheduler), 3)
    assert rates == pytest.approx([0.001, 0.0001, 0.0001])


def test_no_second_schedule_is_added() -> None:
    finding = Finding(problem="plateau", step=0)
    given = recipe(lambda made: lrs.StepLR(made, 2))
    assert LowerOnPlateau().prescribe(finding, given) is None


def test_the_difference_shows_a_schedule_with_rates_of_its_own() -> None:
    given = recipe(one_cycle, "batch")
    assert given.lr == 0.02
    lines = given.diff(given.with_lr(0.01)).splitlines()
    assert [line.partition("(")[0] for line in lines] == [
        "- optimizer = torch.optim.SGD",
        "+ optimizer = torch.optim.SGD",
        "- scheduler = torch.optim.lr_scheduler.OneCycleLR",
        "+ scheduler = torch.optim.lr_scheduler.OneCycleLR",
    ]
    assert "max_lr=0.02, total_steps=48" in lines[2]
    assert "max_lr=0.01, total_steps=48" in lines[3]
    plain = recipe(lambda made: lrs.StepLR(made, 2))
    assert "scheduler" not in plain.diff(plain.with_lr(0.5))
