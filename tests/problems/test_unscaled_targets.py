from math import inf, nan
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.history import History
from sickbay.problems import UnscaledTargets
from sickbay.vitals import Setup

problem = UnscaledTargets(size=16, after=40)
REGRESSION = Setup(task="regression", output_shape=(4, 1))


def history(
    size: float = 100.0,
    score: float = -4.0,
    *,
    steps: int = 60,
    setup: Setup = REGRESSION,
    loss: float = 1.0,
    output: float = 0.5,
) -> History:
    made = History(setup, loss=steps * [loss], score=steps * [score], constant_score=steps * [0.0])
    target = {"norm": 2 * size, "count": 4.0}
    made.add_table(
        "batch", {"target": target, "output": {"norm": 2 * output, "count": 4.0}}, steps - 1
    )
    return made


@pytest.mark.parametrize(
    ("size", "score", "expected"),
    [
        pytest.param(100.0, -4.0, True, id="far-away"),
        pytest.param(16.0, -4.0, False, id="size-at-the-limit"),
        pytest.param(16.1, -4.0, True, id="size-above-the-limit"),
        pytest.param(1e30, -4.0, True, id="any-scale"),
        pytest.param(1.0, -4.0, False, id="scaled"),
        pytest.param(100.0, 0.0, False, id="as-good-as-the-mean"),
        pytest.param(100.0, -0.01, True, id="worse-than-the-mean"),
        pytest.param(100.0, 0.9, False, id="gets-there"),
        pytest.param(nan, -4.0, False, id="nan"),
        pytest.param(100.0, nan, False, id="score-nan"),
    ],
)
def test_check(size: float, score: float, expected: bool) -> None:
    assert bool(problem.check(history(size, score))) is expected


@pytest.mark.parametrize(
    ("steps", "score", "loss", "expected"),
    [
        pytest.param(41, -4.0, 1.0, True, id="at-the-limit"),
        pytest.param(40, -4.0, 1.0, False, id="too-early"),
        pytest.param(2, -1001.0, 1.0, True, id="thrown-off"),
        pytest.param(2, -1000.0, 1.0, False, id="not-thrown-off"),
        pytest.param(2, -4.0, nan, False, id="loss-nan"),
    ],
)
def test_when(steps: int, score: float, loss: float, expected: bool) -> None:
    assert bool(problem.check(history(score=score, steps=steps, loss=loss))) is expected


@pytest.mark.parametrize(
    ("losses", "nonfinite", "expected"),
    [
        pytest.param([9.0, 91.0, nan], 0, True, id="grew"),
        pytest.param([9.0, 90.0, nan], 0, False, id="at-the-limit"),
        pytest.param([9.0, inf], 0, True, id="inf"),
        pytest.param([9.0, 91.0, nan], 1, False, id="inputs-are-to-blame"),
        pytest.param([nan], 0, False, id="from-the-start"),
    ],
)
def test_a_loss_that_is_not_finite(losses: list[float], nonfinite: int, expected: bool) -> None:
    made = History(REGRESSION, loss=losses)
    target = {"norm": 200.0, "count": 4.0}
    made.add_table("batch", {"input": {"nonfinite": nonfinite}, "target": target})
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel", "next_token", ""])
def test_only_numbers_can_be_scaled(task: str) -> None:
    assert problem.check(history(setup=Setup(task=task))) is None


def test_without_targets_nothing_is_known() -> None:
    assert problem.check(History(REGRESSION, loss=[nan])) is None
    made = History(REGRESSION, loss=[nan])
    made.add_table("batch", {"output": {"norm": 100.0, "count": 1.0}})
    assert problem.check(made) is None


@pytest.mark.parametrize(("output", "words"), [(0.5, ", outputs around 0.5"), (nan, ""), (inf, "")])
def test_the_finding_names_the_step_and_the_numbers(output: float, words: str) -> None:
    finding = problem.check(history(output=output))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("unscaled_targets", "warning")
    assert (finding.step, finding.layers, finding.evidence) == (59, (), {"size": 100.0})
    assert finding.message == f"targets are around 100 (limit 16){words}"


@pytest.mark.parametrize(
    ("scale", "kind", "rate", "expected"),
    [
        pytest.param(300.0, torch.optim.Adam, 1e-3, True, id="out-of-reach"),
        pytest.param(1.0, torch.optim.Adam, 1e-3, False, id="scaled"),
        pytest.param(3000.0, torch.optim.SGD, 0.1, True, id="thrown-off"),
    ],
)
def test_in_a_loop(scale: float, kind: Any, rate: float, expected: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = kind(model.parameters(), lr=rate)
    doctor = sickbay.watch(
        model, optimizer, every=1, problems=["unscaled_targets"], on_finding="silent"
    )
    for _ in range(60):
        x = torch.randn(32, 8)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), scale * (3 + x[:, :1]))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert ([each.problem for each in doctor.findings] == ["unscaled_targets"]) is expected


@pytest.mark.parametrize(
    ("score", "stretched", "expected"),
    [(0.09, True, True), (0.1, True, False), (0.09, False, False)],
)
def test_a_loss_that_broadcasts_teaches_the_mean(
    score: float, stretched: bool, expected: bool
) -> None:
    setup = Setup(task="regression", output_shape=(4, 1), stretched=stretched)
    assert bool(problem.check(history(score=score, setup=setup))) is expected
