from math import nan

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.history import History
from sickbay.problems import TargetLeak

problem = TargetLeak(share=0.75, checks=3)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([1.0] * 3, True, id="all"),
        pytest.param([0.75] * 3, True, id="at-the-limit"),
        pytest.param([0.74] * 3, False, id="below-the-limit"),
        pytest.param([1.0] * 2, False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([1.0, 0.1, 1.0], False, id="another-between"),
        pytest.param([0.1, 1.0, 1.0, 1.0], True, id="forgets-what-left-the-window"),
        pytest.param([1.0, 1.0, nan], False, id="nan-now"),
        pytest.param([nan, 1.0, 1.0], False, id="nan-before"),
    ],
)
def test_check(shares: list[float], expected: bool) -> None:
    assert bool(problem.check(History(leak=shares))) is expected


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(History(leak=[1.0, 0.875, 1.0]))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("target_leak", "critical")
    assert (finding.step, finding.layers, finding.evidence) == (2, (), {"share": 0.875})
    assert finding.message == ("87.5 % of the targets stand in the inputs (limit 75 %)")


class Tokens(nn.Module):
    """A model of tokens, with classes in the last dimension."""

    def __init__(self, flat: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11))
        self.flat = flat

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.body(x)
        return out.reshape(-1, 11) if self.flat else out


@pytest.mark.parametrize("flat", [True, False], ids=["flat", "sequences"])
@pytest.mark.parametrize("functional", [True, False], ids=["function", "module"])
@pytest.mark.parametrize(("shifted", "expected"), [(False, True), (True, False)])
def test_in_a_loop(flat: bool, functional: bool, shifted: bool, expected: bool) -> None:
    torch.manual_seed(0)
    model = Tokens(flat)
    compare = nn.functional.cross_entropy if functional else nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, every=1, problems=["target_leak"], on_finding="silent")
    for _ in range(4):
        tokens = torch.randint(11, (6, 9))
        y = tokens[:, 1:] if shifted else tokens[:, :-1]
        optimizer.zero_grad()
        loss = compare(model(tokens[:, :-1]).reshape(-1, 11), y.reshape(-1))
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == ["target_leak"]) is expected
