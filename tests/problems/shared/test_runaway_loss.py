"""A loss that falls without end."""

from collections.abc import Sequence
from math import exp, inf, log

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.problems.shared.runaway_loss import runs_away
from sickbay.vitals import Setup


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([-0.01 * step**2 for step in range(150)], True, id="faster-and-faster"),
        pytest.param([-0.01 * step**2 for step in range(149)], False, id="too-early"),
        pytest.param([-0.5 * step for step in range(200)], True, id="as-fast-as-before"),
        pytest.param([-3.0 - step for step in range(140)], False, id="too-few"),
        pytest.param([-0.2 * step for step in range(200)], False, id="not-deep"),
        pytest.param([-3.0 - step for step in range(160)], False, id="not-deep-for-its-start"),
        pytest.param([3.0 - step for step in range(200)], True, id="from-above-0"),
        pytest.param([-40 * log(1 + step) for step in range(300)], False, id="slows-down"),
        pytest.param([90 * exp(-step / 40) - 99 for step in range(400)], False, id="levels-off"),
        pytest.param([*199 * [-9.0], -inf], False, id="not-finite"),
        pytest.param([0.01 * step**2 for step in range(200)], False, id="rises"),
        pytest.param([-0.5 * step for step in range(5000)], True, id="long-and-straight"),
        pytest.param([-5 * step**0.5 for step in range(5000)], False, id="long-and-slower"),
        pytest.param([550.0, -4e4, -5e9, -1e20, -1e19], True, id="out-of-all-bounds"),
        pytest.param([5.0, -3e6, -5e6], False, id="within-bounds"),
        pytest.param([5.0, -3e6, -5.1e6], True, id="just-out-of-bounds"),
        pytest.param([], False, id="no-loss"),
    ],
)
def test_runs_away(losses: Sequence[float], expected: bool) -> None:
    assert runs_away(History(loss=losses)) is expected


@pytest.mark.parametrize("passed_on", [False, True])
def test_the_critic_of_a_policy_may_raise_its_marks(passed_on: bool) -> None:
    losses = [-0.01 * step**2 for step in range(200)]
    finding = ImproperLoss().check(History(Setup(passed_on=passed_on), loss=losses))
    assert bool(finding) is not passed_on
    if finding is not None:
        assert "falls without end, to -396 so far" in finding.message
