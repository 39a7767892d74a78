"""Critics that are watched: a generator's pass through its critic is not the critic's training."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tests.doctor.loops import backward, watch

Loss = Callable[[Tensor], Tensor]


def towards(label: float) -> Loss:
    return lambda judged: F.binary_cross_entropy_with_logits(judged, torch.full((16, 1), label))


def noisily(label: float) -> Loss:
    """Give two of the labels the other way round."""
    wanted = torch.full((16, 1), label)
    wanted[:2] = 1 - label
    return lambda judged: F.binary_cross_entropy_with_logits(judged, wanted)


ADVERSARIES: dict[str, tuple[Loss, Loss, Loss]] = {  # of the generator, and for real and made
    "bce": (towards(1.0), towards(1.0), towards(0.0)),
    "softplus": (
        lambda judged: -F.softplus(judged).mean(),
        lambda judged: F.softplus(-judged).mean(),
        lambda judged: F.softplus(judged).mean(),
    ),
    "minimax": (lambda judged: F.logsigmoid(-judged).mean(), towards(1.0), towards(0.0)),
    "noisy-labels": (
        lambda judged: F.logsigmoid(-judged).mean(),
        noisily(1.0),
        noisily(0.0),
    ),
    "hinge": (
        lambda judged: -judged.mean(),
        lambda judged: F.relu(1 - judged).mean(),
        lambda judged: F.relu(1 + judged).mean(),
    ),
    "squares": (
        lambda judged: (judged - 1).pow(2).mean(),
        lambda judged: (judged - 1).pow(2).mean(),
        lambda judged: judged.pow(2).mean(),
    ),
    "wasserstein": (
        lambda judged: -judged.mean(),
        lambda judged: -judged.mean(),
        lambda judged: judged.mean(),
    ),
}


@pytest.mark.parametrize("told", ["critic", "generator", ""])
@pytest.mark.parametrize("first", ["critic", "generator"])
@pytest.mark.parametrize("losses", ADVERSARIES.values(), ids=ADVERSARIES)
def test_adversaries(losses: tuple[Loss, Loss, Loss], first: str, told: str) -> None:
    torch.manual_seed(0)
    wanted, real, made = losses
    generator = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizers = {
        "generator": torch.optim.Adam(generator.parameters(), lr=1e-3),
        "critic": torch.optim.Adam(critic.parameters(), lr=1e-3),
    }
    doctor = watch(critic, optimizers["critic"])
    for _ in range(20):
        values = {}
        for player in sorted(optimizers, key=lambda each: each != first):
            samples = generator(torch.randn(16, 3))
            if player == "generator":
                loss = wanted(critic(samples))
            else:
                loss = real(critic(torch.randn(16, 2) + 3)) + made(critic(samples.detach()))
            optimizers[player].zero_grad()
            backward(loss)
            optimizers[player].step()
            values[player] = loss
        doctor.step(values.get(told))
    doctor.close()
    assert [str(each) for each in doctor.findings if each.severity != "info"] == []
