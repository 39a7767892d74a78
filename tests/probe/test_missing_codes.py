"""Codes for missing values among the inputs."""

from typing import Any

import pytest
import torch
from torch import Tensor

from sickbay.history import History
from sickbay.probe.missing_codes import MissingCodes
from sickbay.problems import UnnormalisedInput

REST = torch.linspace(0, 1, 40)[:, None].repeat(1, 2)


def column(code: float, repeats: int = 3) -> Tensor:
    inputs = REST.clone()
    inputs[:repeats, 1] = code
    return inputs


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        pytest.param(column(-999.0), -999.0, id="low"),
        pytest.param(column(999.0), 999.0, id="high"),
        pytest.param((column(-999.0) - 5) / 1e4, -0.1004, id="standardised"),
        pytest.param(column(-999.0, repeats=2), None, id="rare"),
        pytest.param(column(-999.0, repeats=12), -999.0, id="often"),
        pytest.param(column(-999.0, repeats=13), None, id="too-often"),
        pytest.param(column(-999.0).round(), None, id="few-values"),
        pytest.param(column(-999.0) + 999, None, id="zero"),
        pytest.param(column(-999.0)[:, :, None], None, id="no-table"),
        pytest.param(column(-999.0).long(), None, id="whole-numbers"),
        pytest.param(column(float("nan")), None, id="nan"),
        pytest.param(column(-999.0)[:1], None, id="one-sample"),
    ],
)
def test_codes(inputs: Tensor, code: float | None) -> None:
    found = MissingCodes().scalars(inputs)
    if code is None:
        assert found.get("code_distance", 0.0) < 1
    else:
        assert found["code"] == pytest.approx(code, rel=1e-3)
        assert found["code_distance"] > 100


def test_batches_add_up() -> None:
    codes = MissingCodes()
    first, *_, last = (codes.scalars(column(-999.0, repeats=1)) for _ in range(3))
    assert first.get("code_distance", 0.0) < 1
    assert last["code"] == -999.0


def test_a_value_far_out_that_does_not_repeat() -> None:
    codes = MissingCodes()
    for size in (900.0, 800.0, 999.0, 700.0):
        found = codes.scalars(column(-size, repeats=1))
    assert found.get("code_distance", 0.0) < 1


def test_distances_are_relative_to_the_rest() -> None:
    assert MissingCodes().scalars(column(-4.0))["code_distance"] == pytest.approx(4.42, rel=0.01)


def history(distance: float = 20.0, score: float = 0.4, steps: int = 101) -> History:
    found = {"code": -9.0, "code_distance": distance, "score": score, "constant_score": 0.0}
    lists: dict[str, Any] = {name: steps * [value] for name, value in found.items()}
    return History(**lists)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(history(), True, id="code"),
        pytest.param(history(distance=5.1), True, id="far"),
        pytest.param(history(distance=5.0), False, id="near"),
        pytest.param(history(score=0.5), False, id="learns"),
        pytest.param(history(steps=100), False, id="too-early"),
    ],
)
def test_check(given: History, expected: bool) -> None:
    assert bool(UnnormalisedInput().check(given)) is expected
