"""Losses of policies with and without a minus."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as f

import sickbay
from sickbay.probe.policy_signs import policy_sign

EARNED = torch.linspace(-1, 2, 8)
TAKEN = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
Choice = Callable[[Tensor], Tensor]


def chosen(actions: Tensor = TAKEN, **policy: Any) -> Tensor:
    logarithms: Tensor = Categorical(**policy).log_prob(actions)  # type: ignore[no-untyped-call]
    return logarithms


CHOICES: dict[str, Choice] = {
    "categorical": lambda out: chosen(logits=out),
    "of-shares": lambda out: chosen(probs=out.softmax(1)),
    "log-softmax": lambda out: f.log_softmax(out, 1).gather(1, TAKEN[:, None]).squeeze(1),
    "indexed": lambda out: f.log_softmax(out, 1)[range(8), TAKEN],
    "log-of-a-share": lambda out: out.softmax(1)[range(8), TAKEN].log(),
    "stacked": lambda out: torch.stack(
        [chosen(action, logits=row) for row, action in zip(out, TAKEN, strict=True)]
    ),
}


def sign(loss: Callable[[Tensor], Tensor]) -> float:
    return policy_sign(loss(nn.Linear(3, 3)(torch.randn(8, 3))).grad_fn)


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_the_sign_of_the_whole_counts(choice: Choice) -> None:
    assert sign(lambda out: (choice(out) * EARNED).mean()) == 1
    assert sign(lambda out: -(choice(out) * EARNED).sum()) == -1
    assert sign(lambda out: (-choice(out) * EARNED).mean()) == -1
    assert sign(lambda out: 3 - (choice(out) * EARNED).mean() + out.square().mean()) == -1


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda out: f.cross_entropy(out, TAKEN), id="cross-entropy"),
        pytest.param(lambda out: (out[:, 0] * EARNED).mean(), id="no-logarithm"),
        pytest.param(lambda out: CHOICES["indexed"](out).mean(), id="no-weights"),
        pytest.param(
            lambda out: (
                CHOICES["indexed"](out) * (EARNED - 1) - CHOICES["of-shares"](out) * EARNED
            ).sum(),
            id="both-signs",
        ),
    ],
)
def test_other_losses(loss: Callable[[Tensor], Tensor]) -> None:
    assert sign(loss) == 0


@pytest.mark.parametrize("minus", [False, True])
def test_in_a_loop(minus: bool) -> None:
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding="silent")
    for _ in range(4):
        optimizer.zero_grad()
        loss = (chosen(logits=model(torch.randn(8, 3))) * EARNED).mean()
        loss = -loss if minus else loss
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    doctor.close()
    found = [each.severity for each in doctor.findings if each.problem == "improper_loss"]
    assert found == ([] if minus else ["info"])
