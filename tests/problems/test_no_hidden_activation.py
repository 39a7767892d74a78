from math import inf, nan

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import NoHiddenActivation
from sickbay.vitals import Setup

problem = NoHiddenActivation(gain=0.5, after=40)
TWO = {"0.weight": (8, 2), "0.bias": (8,), "1.weight": (2, 8)}


def history(
    score: float = 0.5,
    *,
    linear: bool = True,
    steps: int = 60,
    shapes: dict[str, tuple[int, ...]] = TWO,
) -> History:
    setup = Setup(linear=linear, shapes=shapes)
    return History(setup, score=steps * [score], constant_score=steps * [0.5])


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        pytest.param(0.5, True, id="as-good-as-a-constant"),
        pytest.param(0.75, False, id="at-the-limit"),
        pytest.param(0.74, True, id="below-the-limit"),
        pytest.param(1.0, False, id="a-line-is-enough"),
        pytest.param(nan, False, id="nan"),
    ],
)
def test_check(score: float, expected: bool) -> None:
    assert bool(problem.check(history(score))) is expected


@pytest.mark.parametrize(("steps", "expected"), [(41, True), (40, False)])
def test_too_early(steps: int, expected: bool) -> None:
    assert bool(problem.check(history(steps=steps))) is expected


def test_activations_and_single_layers() -> None:
    assert problem.check(history(linear=False)) is None
    assert problem.check(history(shapes={"0.weight": (2, 2), "0.bias": (2,)})) is None
    assert problem.check(History(Setup(linear=True, shapes=TWO), loss=60 * [1.0])) is None


@pytest.mark.parametrize(
    ("loss", "ended", "expected"),
    [
        pytest.param(nan, True, True, id="nan"),
        pytest.param(inf, True, True, id="inf"),
        pytest.param(1.0, True, False, id="finite"),
        pytest.param(nan, False, False, id="it-may-not-be-over"),
    ],
)
def test_a_run_that_is_lost(loss: float, ended: bool, expected: bool) -> None:
    made = History(Setup(linear=True, shapes=TWO), loss=[*60 * [1.0], loss])
    made.ended = ended
    finding = problem.check(made)
    assert bool(finding) is expected
    assert finding is None or finding.severity == "info"


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(history(0.625))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("no_hidden_activation", "warning")
    assert (finding.step, finding.layers) == (59, ())
    assert finding.evidence == {"score": 0.625, "constant": 0.5}
    assert finding.message == (
        "no activation between 2 layers, "
        "scores 0.625 on its training batches, a constant answer 0.5"
    )


@pytest.mark.parametrize(
    ("between", "straight", "expected"),
    [
        pytest.param(nn.Identity, False, True, id="forgotten"),
        pytest.param(nn.ReLU, False, False, id="relu"),
        pytest.param(nn.Identity, True, False, id="a-line-is-enough"),
    ],
)
def test_in_a_loop(between: type[nn.Module], straight: bool, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 32), between(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    problems = ["no_hidden_activation"]
    with sickbay.watch(model, optimizer, every=1, problems=problems, on_finding="silent") as doctor:
        for _ in range(200):
            x = torch.randn(64, 2)
            y = x[:, 0] > 0 if straight else x[:, 0] * x[:, 1] > 0
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y.long())
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == problems) is expected
