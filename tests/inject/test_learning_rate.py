from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR, LRScheduler

from sickbay import inject
from sickbay.inject import Injection
from tests.inject.loops import train
from tests.models import mlp


def test_the_learning_rate_jumps_and_is_put_back() -> None:
    model = mlp()
    used = SGD(
        [{"params": model[0].parameters(), "lr": 0.3}, {"params": model[2].parameters()}],  # type: ignore[index]
        lr=0.1,
    )
    rates = []
    with inject.raise_learning_rate(used, 7, at=2):
        for _ in range(4):
            used.step()
            rates.append([group["lr"] for group in used.param_groups])
    assert rates == [[0.3, 0.1]] * 2 + [[7 * 0.3, 7 * 0.1]] * 2
    assert [group["lr"] for group in used.param_groups] == [0.3, 0.1]


@pytest.mark.parametrize(
    "schedule",
    [
        pytest.param(lambda used: ExponentialLR(used, 0.9), id="from-the-last-rate"),
        pytest.param(lambda used: LambdaLR(used, lambda step: 0.9**step), id="anew"),
        pytest.param(lambda used: LambdaLR(used, lambda step: 0.25 * step), id="warm-up-from-0"),
    ],
)
@pytest.mark.parametrize("at", [0, 3])
def test_a_schedule_continues_at_the_raised_rate(
    schedule: Callable[[Optimizer], LRScheduler], at: int
) -> None:
    rates: list[list[float]] = []
    for factor in (1, 50):
        kept: list[Optimizer] = []

        def make(_: nn.Module, used: Optimizer, f: int = factor, k: Any = kept) -> Injection:
            k.append(used)
            return inject.raise_learning_rate(used, f, at=at)

        rates.append(train(make, schedule=schedule).rates)
        rates[-1].append(kept[0].param_groups[0]["lr"])  # after the block
    plain, raised = rates
    assert raised[:at] == plain[:at]
    assert raised[at:-1] == pytest.approx([50 * rate for rate in plain[at:-1]])
    assert raised[-1] == pytest.approx(plain[-1])


def test_a_learning_rate_in_a_tensor_stays_that_tensor() -> None:
    model = mlp()
    used = Adam(model.parameters(), lr=torch.tensor(0.5), capturable=False, foreach=False)
    rate = used.param_groups[0]["lr"]
    with inject.raise_learning_rate(used, 4, at=0):
        used.step()
        assert used.param_groups[0]["lr"] is rate
        assert float(rate) == 2.0
    assert float(rate) == 0.5
