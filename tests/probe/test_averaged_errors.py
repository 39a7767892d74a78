"""A loss may average outputs, as for an ensemble, but not errors before they are squared."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from sickbay.probe.averaged_errors import averages_errors


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param(lambda o, y: (o - y).mean(1).square().mean(), True, id="errors"),
        pytest.param(lambda o, y: (y - o).sum(1).abs().mean(), True, id="summed"),
        pytest.param(lambda o, y: (o - y).flatten(1).mean(1).square().mean(), True, id="moved"),
        pytest.param(lambda o, y: (o - y).square().mean(1).mean(), False, id="squared-first"),
        pytest.param(lambda o, y: (o - y).mean(0).square().mean(), False, id="over-the-batch"),
        pytest.param(lambda o, y: (o.sum(1) - y[:, 0]).square().mean(), False, id="outputs"),
        pytest.param(lambda o, y: nn.MSELoss()(o.mean(1), y[:, 0]), False, id="ensemble"),
        pytest.param(lambda o, _: -(o - o.mean(1, True)).mean(1).mean(), False, id="own-mean"),
        pytest.param(lambda o, y: (o - y).mean(), False, id="of-all"),
    ],
)
def test_averages_errors(loss: Callable[[Tensor, Tensor], Tensor], expected: bool) -> None:
    torch.manual_seed(0)
    outputs = nn.Linear(3, 5)(torch.ones(8, 3))
    value = loss(outputs, torch.rand(8, 5))
    assert averages_errors(value.grad_fn, outputs.grad_fn) is expected


def test_no_output_is_known() -> None:
    assert not averages_errors(nn.Linear(3, 5)(torch.ones(8, 3)).mean(1).grad_fn, None)
