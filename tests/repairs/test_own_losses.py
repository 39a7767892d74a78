"""Losses written by hand: those with a slip are named and repaired, the others left alone."""

import pytest
import torch

import sickbay
from sickbay.repairs.outcome import Outcome
from tests.repairs.own_losses import FAULTY, SOUND, Case, X

OF_EIGHT_EPOCHS = ("still_falling", "underfitting")  # say nothing about the loss


def fitted(case: Case) -> Outcome:
    model = case.model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = X, case.targets
    return sickbay.fit(
        model, data, loss=case.loss, optimizer=optimizer, epochs=8, batch_size=32, progress=False
    )


@pytest.mark.parametrize("case", SOUND, ids=lambda case: case.name)
def test_a_sound_loss_is_left_alone(case: Case) -> None:
    outcome = fitted(case)
    faults = [each for each in outcome.findings if each.problem not in OF_EIGHT_EPOCHS]
    assert [str(each) for each in faults] == []


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.name)
def test_a_slip_is_named_and_repaired(case: Case) -> None:
    outcome = fitted(case)
    assert outcome.findings[0].problem == case.problem
    assert outcome.score > 0.8
