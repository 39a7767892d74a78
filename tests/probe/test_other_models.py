"""Whether another model judges the outputs."""

import pytest
import torch
from torch import nn

from sickbay.probe.other_models import are_passed_on


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("judged", [True, False])
def test_a_critic_is_seen(frozen: bool, judged: bool) -> None:
    actor, critic = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), nn.Linear(3, 1)
    critic.requires_grad_(not frozen)
    actions = actor(torch.ones(4, 2))
    loss = -(critic(actions) if judged else actions).mean()
    own = {*map(id, actor.parameters())}
    assert are_passed_on(loss.grad_fn, actions.grad_fn, own) is judged


def test_two_calls_of_one_model_are_its_own() -> None:
    model = nn.Linear(2, 3)
    first, second = model(torch.ones(4, 2)), model(torch.zeros(4, 2))
    own = {*map(id, model.parameters())}
    assert not are_passed_on((first * second).mean().grad_fn, second.grad_fn, own)
