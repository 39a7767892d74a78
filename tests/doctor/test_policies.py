"""Losses of policies: sickbay does not know the rewards, so it does not judge their sign."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import sickbay

EARNED = torch.linspace(-1, 2, 8)
COSTS = torch.linspace(-3, -1, 8)  # as where every step costs


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda chosen: -(chosen * EARNED).mean(), id="outside"),
        pytest.param(lambda chosen: (-EARNED * chosen).mean(), id="inside"),
        pytest.param(lambda chosen: (chosen * -EARNED).sum(), id="inside-a-sum"),
        pytest.param(lambda chosen: (chosen * -COSTS).mean(), id="all-weights-above-0"),
    ],
)
def test_a_minus_may_be_in_the_constant(loss: Callable[[Tensor], Tensor]) -> None:
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(6):
        policy = Categorical(logits=model(torch.randn(8, 3)))
        value = loss(policy.log_prob(policy.sample()))  # type: ignore[no-untyped-call]
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(value)
    doctor.close()
    assert "improper_loss" not in [each.problem for each in doctor.findings]
