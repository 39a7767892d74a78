"""Terms of a loss that drown others."""

import pytest

from sickbay.history import History
from sickbay.problems.shared.uneven_terms import drowned_errors, faint_error


def history(
    ended: bool = True, gain: float | None = None, steps: int = 100, **pulls: list[float]
) -> History:
    scores = {} if gain is None else {"score": steps * [gain], "constant_score": steps * [0.0]}
    made = History(**{"loss": steps * [1.0], **scores, **pulls})  # type: ignore[arg-type]
    made.ended = ended
    return made


@pytest.mark.parametrize(
    ("pulls", "ended", "gain", "expected"),
    [
        pytest.param(3 * [25.0], True, None, True, id="at-the-limit"),
        pytest.param(3 * [24.9], True, None, False, id="below-the-limit"),
        pytest.param(3 * [1000.0], False, None, False, id="score-not-known-yet"),
        pytest.param(3 * [1000.0], False, 0.5, False, id="may-still-learn"),
        pytest.param(3 * [1000.0], True, 0.5, True, id="learnt-badly"),
        pytest.param(3 * [1000.0], True, 0.71, False, id="copes"),
        pytest.param(3 * [4.0], False, 0.24, True, id="little-is-learnt"),
        pytest.param(3 * [3.9], False, 0.24, False, id="too-weak"),
        pytest.param([1000.0, 1000.0, 1000.0, 0.0], True, None, False, id="at-first-only"),
        pytest.param([1.0, 1.0, 1.0, 1000.0], True, None, False, id="once-the-error-is-small"),
        pytest.param(2 * [1000.0], True, None, False, id="too-few"),
    ],
)
def test_drowned(pulls: list[float], ended: bool, gain: float | None, expected: bool) -> None:
    assert bool(drowned_errors(history(ended, gain, side_pull=pulls))) is expected


def test_nothing_is_said_before_a_model_can_have_learnt() -> None:
    assert not drowned_errors(history(False, 0.0, 70, side_pull=3 * [1000.0]))
    assert drowned_errors(history(False, 0.0, 72, side_pull=3 * [1000.0]))


@pytest.mark.parametrize(
    ("shares", "ended", "gain", "expected"),
    [
        pytest.param(3 * [0.0099], True, None, True, id="faint"),
        pytest.param(3 * [0.01], True, None, False, id="at-the-limit"),
        pytest.param(3 * [0.001], False, None, False, id="not-yet"),
        pytest.param([0.001, 0.001, 0.001, 0.2], True, None, False, id="ramp-up"),
        pytest.param([0.2, 0.001, 0.001, 0.001], True, None, False, id="at-first"),
        pytest.param(3 * [0.001], True, 0.69, True, id="learnt-badly"),
        pytest.param(3 * [0.001], True, 0.71, False, id="learnt"),
        pytest.param(2 * [0.001], True, None, False, id="too-few"),
    ],
)
def test_faint(shares: list[float], ended: bool, gain: float | None, expected: bool) -> None:
    assert bool(faint_error(history(ended, gain, least_pull=shares))) is expected
