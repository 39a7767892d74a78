from math import inf, nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import ConstantInput

problem = ConstantInput(spread=2.0**-20, checks=3)
LIMIT = 2.0**-20


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [
        pytest.param([0.0] * 3, True, id="all-the-same"),
        pytest.param([LIMIT / 2] * 3, True, id="up-to-rounding"),
        pytest.param([LIMIT] * 3, False, id="at-the-limit"),
        pytest.param([0.0] * 2, False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([0.0, 0.5, 0.0], False, id="another-between"),
        pytest.param([0.5, 0.0, 0.0, 0.0], True, id="forgets-what-left-the-window"),
        pytest.param([0.0, 0.0, nan], False, id="nan-now"),
        pytest.param([nan, 0.0, 0.0], False, id="nan-before"),
        pytest.param([inf] * 3, False, id="inf"),
    ],
)
def test_check(spreads: list[float], expected: bool) -> None:
    assert bool(problem.check(History(input_spread=spreads))) is expected


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(History(input_spread=[0.0, LIMIT / 2, 0.0]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("constant_input", "critical")
    assert (finding.step, finding.layers, finding.evidence) == (2, (), {"spread": LIMIT / 2})
    assert finding.message == "all samples of the last 3 batches read are the same"


@pytest.mark.parametrize(
    ("scale", "rows", "expected"),
    [
        pytest.param(0.0, 16, True, id="all-zero"),
        pytest.param(1e-12, 16, False, id="any-scale-small"),
        pytest.param(1e12, 16, False, id="any-scale-large"),
        pytest.param(1.0, 1, False, id="one-sample"),
    ],
)
def test_in_a_loop(scale: float, rows: int, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-30)
    doctor = sickbay.watch(
        model, optimizer, every=1, problems=["constant_input"], on_finding="silent"
    )
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.CrossEntropyLoss()(model(scale * torch.randn(rows, 8)), torch.arange(rows) % 2)
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == ["constant_input"]) is expected
