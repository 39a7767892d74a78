from math import nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import NoisyLabels
from sickbay.vitals import Setup

problem = NoisyLabels()


def history(steps: int = 100, batch: int = 32, **values: float | list[float]) -> History:
    given = {"score": 0.6, "constant_score": 0.1, "sure_errors": 0.4, "sure_distance": 0.5} | values
    lists: dict[str, Any] = {k: v if isinstance(v, list) else steps * [v] for k, v in given.items()}
    return History(Setup(output_shape=(batch, 10)), **lists)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(history(), True, id="wrong-labels"),
        pytest.param(history(sure_errors=0.25), True, id="fewer-where-sure"),
        pytest.param(history(sure_errors=0.23), False, id="far-fewer-where-sure"),
        pytest.param(history(score=0.8, sure_errors=0.15), True, id="at-the-limit"),
        pytest.param(history(score=0.8, sure_errors=0.149), False, id="rare"),
        pytest.param(history(score=0.371), True, id="has-learnt"),
        pytest.param(history(score=0.369), False, id="has-not-learnt"),
        pytest.param(history(sure_distance=0.32), True, id="far"),
        pytest.param(history(sure_distance=0.3), False, id="close"),
        pytest.param(history(sure_errors=[*75 * [0.4], *25 * [0.37]]), True, id="lasting"),
        pytest.param(history(sure_errors=[*75 * [0.4], *25 * [0.35]]), False, id="getting-better"),
        pytest.param(history(steps=74), True, id="long-enough"),
        pytest.param(history(steps=73), False, id="too-early"),
        pytest.param(history(2000), True, id="more-readings-than-are-kept"),
        pytest.param(history(batch=8), True, id="enough-errors"),
        pytest.param(history(batch=8, sure_errors=0.37), False, id="too-few-errors"),
        pytest.param(history(sure_errors=nan), False, id="nan"),
        pytest.param(history(constant_score=nan), False, id="constant-not-known"),
        pytest.param(History(), False, id="nothing"),
    ],
)
def test_check(given: History, expected: bool) -> None:
    assert bool(problem.check(given)) is expected


def test_readings_of_an_ignorant_model_do_not_count() -> None:
    assert problem.check(history(score=[*54 * [0.1], *46 * [0.6]])) is not None
    assert problem.check(history(score=[*55 * [0.1], *45 * [0.6]])) is None


@pytest.mark.parametrize("steps", range(60, 400, 10))
def test_a_model_that_still_learns(steps: int) -> None:
    errors = [20 / (step + 50) for step in range(steps)]
    scores = [1 - 1.2 * error for error in errors]
    assert problem.check(history(steps, score=scores, sure_errors=errors)) is None


def test_the_numbers_are_in_the_finding() -> None:
    finding = problem.check(history())
    assert finding is not None
    assert finding.evidence == {"share": pytest.approx(0.4), "distance": pytest.approx(0.5)}
