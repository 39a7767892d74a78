from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import LossSpike
from sickbay.vitals import Vitals

STEADY = [1.0, 1.25, 1.5, 1.25]  # at most 1.5, range 0.5: with factor 4 the limit is 3.5
problem = LossSpike(factor=4, least=0.25, window=4)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([*STEADY, 9.0], True, id="jump"),
        pytest.param([*STEADY, 3.5], False, id="at-the-limit"),
        pytest.param([*STEADY, 3.51], True, id="above-the-limit"),
        pytest.param([1e-12 * loss for loss in [*STEADY, 3.51]], True, id="any-scale-small"),
        pytest.param([2.0**60 * loss for loss in [*STEADY, 3.5]], False, id="any-scale-large"),
        pytest.param([5.0 + loss for loss in [*STEADY, 3.51]], True, id="any-level"),
        pytest.param([3.0, *STEADY, 3.51], True, id="forgets-what-left-the-window"),
        pytest.param([3.0, *STEADY[1:], 3.51], False, id="was-as-high-lately"),
        pytest.param([8.0, *STEADY, 3.5], False, id="at-the-limit-of-the-first-loss"),
        pytest.param([8.0, *STEADY, 3.51], True, id="above-the-limit-of-the-first-loss"),
        pytest.param([16.0, *STEADY, 5.5], False, id="at-the-limit-of-a-large-first-loss"),
        pytest.param([16.0, *STEADY, 5.51], True, id="above-the-limit-of-a-large-first-loss"),
        pytest.param([1.0, 1.25, 1.25, 1.5, 3.4], False, id="high-just-before"),
        pytest.param([1.5, 1.25, 1.25, 1.0, 3.4], False, id="low-just-before"),
        pytest.param([*STEADY[1:], 9.0], False, id="too-early"),
        pytest.param([*STEADY, 9.0, 1.25], False, id="over"),
        pytest.param([*STEADY, 9.0, 9.5], False, id="stays-high"),
        pytest.param([1.0] * 4 + [1.25], False, id="from-a-constant-at-the-limit"),
        pytest.param([1.0] * 4 + [1.26], True, id="from-a-constant"),
        pytest.param([1.0] * 5, False, id="constant"),
        pytest.param([-2.0, -3.0, -3.0, -3.0, -3.0, -2.5], False, id="negative-at-the-limit"),
        pytest.param([-2.0, -3.0, -3.0, -3.0, -3.0, -2.4], True, id="negative"),
        pytest.param([*STEADY, nan], False, id="nan-now"),
        pytest.param([*STEADY, inf], False, id="inf-is-for-non-finite"),
        pytest.param([nan, *STEADY[1:], 9.0], False, id="nan-in-the-window"),
        pytest.param([*STEADY[:2], nan, 1.0, 9.0], False, id="nan-amid-the-window"),
        pytest.param([*STEADY[:3], nan, 9.0], False, id="nan-just-before"),
        pytest.param([*STEADY[:2], inf, 1.0, 9.0], False, id="inf-in-the-window"),
        pytest.param([], False, id="no-loss"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(History(loss=losses))) is expected


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = History(loss=STEADY)
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 9.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("loss_spike", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (9, 2, ())
    assert finding.evidence == {"loss": 9.0, "low": 1.0, "high": 1.5}
    assert finding.message == "loss 9, between 1 and 1.5 in the 4 steps before"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param(0.9, False, id="hardly-any-loss-was-left"),
        pytest.param(1.1, True, id="up-to-half-of-the-first"),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_a_jump_near_the_minimum(now: float, expected: bool, scale: float) -> None:
    losses = [2.0, *20 * [0.01], now]
    assert bool(problem.check(History(loss=[scale * loss for loss in losses]))) is expected


@pytest.mark.parametrize(("loss", "severity"), [(2.2, "info"), (2.4, "warning")])
def test_it_is_an_info_below_the_first_loss(loss: float, severity: str) -> None:
    finding = LossSpike().check(History(loss=[2.3, *20 * [1.0, 1.1], loss]))
    assert finding is not None
    assert finding.severity == severity


@pytest.mark.parametrize(("low", "severity"), [(-0.1, "info"), (0.1, "warning")])
def test_a_loss_of_both_signs_measures_no_error(low: float, severity: str) -> None:
    finding = LossSpike().check(History(loss=[0.2, *20 * [low, 0.2], 5.0]))
    assert finding is not None
    assert finding.severity == severity
