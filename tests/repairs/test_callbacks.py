"""Callbacks are told every epoch, may stop an attempt, and their errors reach the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sickbay
from sickbay.repairs import EpochEnd
from tests.repairs.test_fit import fit, healthy, sick
from tests.repairs.user_loops import recipe_of, step


def test_it_is_told_every_epoch() -> None:
    told: list[EpochEnd] = []
    outcome = fit(healthy(), epochs=4, remedies=[], callbacks=[told.append])
    assert [(each.attempt, each.epoch) for each in told] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert [each.metrics for each in told] == list(outcome.history)
    assert [each.score for each in told] == [each["val_accuracy"] for each in outcome.history]
    assert {each.change for each in told} == {"as given"}


def test_the_score_is_that_of_the_metric() -> None:
    told: list[EpochEnd] = []
    outcome = fit(healthy(), epochs=2, metric="loss", remedies=[], callbacks=[told.append])
    assert [each.score for each in told] == [-each["val_loss"] for each in outcome.history]


@pytest.mark.parametrize("workers", [None, 2])
def test_it_is_told_every_epoch_of_every_attempt(workers: Any) -> None:
    told: list[EpochEnd] = []
    more: dict[str, Any] = {"epochs": 5, "remedies": ["insert_normalisation"]}
    outcome = fit(sick(), workers=workers, callbacks=[told.append], **more)
    assert len(outcome.attempts) > 1
    for attempt in outcome.attempts:
        own = [each for each in told if each.attempt == attempt.number]
        assert [each.epoch for each in own] == list(range(int(attempt.epochs)))
        assert {each.change for each in own} <= {attempt.words}


@pytest.mark.parametrize(("workers", "answer"), [(None, True), (2, True), (None, np.True_)])
def test_true_stops_the_attempt(workers: Any, answer: Any) -> None:
    told: list[int] = []

    def third(ended: EpochEnd) -> Any:
        return answer if ended.epoch == 2 else None

    outcome = fit(
        healthy(), workers=workers, callbacks=[third, lambda ended: told.append(ended.epoch)]
    )
    assert not outcome.solved  # three epochs are too few
    assert (outcome.epochs, told) == (3, [0, 1, 2])
    assert outcome.attempts[0].result == "stopped"
    assert len(outcome.history) == 3


def test_other_answers_do_not_stop_it() -> None:
    answers: list[Any] = [1, "stop", object(), False, np.False_, torch.ones(1)]
    calls = [lambda _, a=a: a for a in answers]
    assert fit(healthy(), epochs=2, remedies=[], callbacks=calls).epochs == 2


def test_a_stopped_attempt_that_missed_its_target_is_not_solved() -> None:
    assert not fit(healthy(), target=0.999, callbacks=[lambda _: True]).solved


@pytest.mark.parametrize("last", [0, 1])
def test_an_attempt_of_a_race_is_stopped_for_good(last: int) -> None:
    def at_last(ended: EpochEnd) -> bool:
        return ended.attempt > 0 and ended.epoch == last

    outcome = fit(sick(), callbacks=[at_last])
    assert outcome.attempts[0].result == "vanishing_gradient"
    assert max(each.epochs for each in outcome.attempts[1:]) == last + 1
    assert len(outcome.history) == last + 1


@pytest.mark.parametrize("workers", [None, 2])
def test_errors_reach_the_user(workers: Any, tmp_path: Path) -> None:
    class Mine(Exception):  # noqa: N818
        pass

    def fails(ended: EpochEnd) -> None:
        if ended.epoch == 1:
            raise Mine("here")

    with pytest.raises(Mine, match="here") as error:
        fit(healthy(), workers=workers, callbacks=[fails], chart=tmp_path / "run")
    assert error.traceback[-1].name == "fails"
    assert sickbay.Chart.open(tmp_path / "run" / "attempt-0").history().epoch == 2


def test_a_resumed_repair_knows_what_was_stopped(tmp_path: Path) -> None:
    path, told = tmp_path / "run", list[EpochEnd]()
    whole = fit(healthy(), chart=path, callbacks=[lambda ended: ended.epoch == 2])
    again = fit(healthy(), chart=path, resume=True, callbacks=[told.append])
    assert told == []
    assert again.solved == whole.solved
    assert (again.epochs, again.score) == (3, whole.score)


def train(recipe: sickbay.Recipe, doctor: Any) -> None:
    x = torch.rand(64, 2, generator=torch.Generator().manual_seed(0))
    for _ in range(recipe.epochs or 0):
        step(recipe, doctor, x, (x[:, :1] > 0.5).float())
        doctor.epoch(val_accuracy=0.5)


def test_a_loop_of_one_s_own_is_stopped_too() -> None:
    told: list[EpochEnd] = []
    recipe = recipe_of(healthy(), epochs=5)
    calls = [told.append, lambda ended: ended.epoch == 1]
    outcome = sickbay.repair(recipe, train=train, callbacks=calls, progress=False)
    assert [(each.epoch, each.metrics, each.score) for each in told] == [
        (0, {"val_accuracy": 0.5}, 0.5),
        (1, {"val_accuracy": 0.5}, 0.5),
    ]
    assert outcome.epochs == 2
    assert outcome.solved


def test_errors_in_a_loop_of_one_s_own_reach_the_user() -> None:
    def sick_loop(recipe: sickbay.Recipe, doctor: Any) -> None:
        torch.manual_seed(0)
        x = torch.rand(256, 2) * 2 - 1
        y = (x.norm(dim=1, keepdim=True) < 0.8).float()
        for _ in range(recipe.epochs or 0):
            for rows in torch.split(torch.randperm(256), 64):
                step(recipe, doctor, x[rows], y[rows])
            doctor.epoch(val_accuracy=0.5)

    def fails(ended: EpochEnd) -> None:
        if ended.attempt == 1:
            raise ZeroDivisionError("mine")

    recipe = recipe_of(sick(), epochs=10)
    with pytest.raises(ZeroDivisionError, match="mine"):
        sickbay.repair(recipe, train=sick_loop, callbacks=[fails], progress=False)
