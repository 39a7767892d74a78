"""Each mistake makes one test fail: the one that names it. Others say where to look."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from tests.checkups import trainable_models as models

X = models.numbers(32, 4)
LABELS = torch.arange(32) % 3
CROSS, SQUARES = nn.CrossEntropyLoss(), nn.MSELoss()
CONSEQUENCE = "runs_on_the_batch"  # says that an exception was raised or a loss is NaN, not why


def network(outputs: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, outputs))


def with_nan() -> Tensor:
    x = X.clone()
    x[3, 2] = torch.nan
    return x


@pytest.mark.parametrize(
    ("make", "batch", "loss", "cause"),
    [
        pytest.param(
            network, (X, LABELS.where(LABELS < 2, 9)), CROSS, "targets_are_sane", id="stray-label"
        ),
        pytest.param(
            lambda: network(2), (X, LABELS), CROSS, "output_fits_the_targets", id="narrow-head"
        ),
        pytest.param(network, (X, LABELS + 1), CROSS, "targets_are_sane", id="labels-from-one"),
        pytest.param(network, (X, LABELS.float()), CROSS, "targets_are_sane", id="float-labels"),
        pytest.param(
            lambda: network(1), (X, X[:, 0]), SQUARES, "output_fits_the_targets", id="broadcast"
        ),
        pytest.param(network, (with_nan(), LABELS), CROSS, "inputs_are_sane", id="nan-input"),
        pytest.param(
            lambda: network(1),
            (X, with_nan()[:, 2:3]),
            SQUARES,
            "targets_are_sane",
            id="nan-target",
        ),
        pytest.param(
            lambda: models.Then(network(), Tensor.detach),
            (X, LABELS),
            CROSS,
            "gradient_reaches_every_parameter",
            id="detached",
        ),
        pytest.param(
            lambda: network().requires_grad_(False),
            (X, LABELS),
            CROSS,
            "overfits_one_batch",
            id="frozen",
        ),
    ],
)
def test_one_test_names_the_cause(
    make: Callable[[], nn.Module], batch: Any, loss: nn.Module, cause: str
) -> None:
    report = checkup(make(), batch, loss)
    assert [each.test for each in report.failed if each.test != CONSEQUENCE] == [cause]
