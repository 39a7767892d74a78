from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import GradientCollapse
from sickbay.vitals import Vitals

STEADY = [2.0, 1.0, 0.5, 1.0]
LIMIT = 2.0**-10
problem = GradientCollapse(factor=LIMIT, window=4)


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param([*STEADY, 1e-8], True, id="drop"),
        pytest.param([*STEADY, 0.0], True, id="nothing-left"),
        pytest.param([*STEADY, LIMIT / 2], False, id="at-the-limit"),
        pytest.param([*STEADY, LIMIT / 2.01], True, id="below-the-limit"),
        pytest.param([1e-30 * norm for norm in [*STEADY, 1e-8]], True, id="any-scale-small"),
        pytest.param([2.0**99 * norm for norm in [*STEADY, LIMIT / 2]], False, id="any-scale-big"),
        pytest.param([1e-9, *STEADY, 1e-8], True, id="forgets-what-left-the-window"),
        pytest.param([1e-9, *STEADY[1:], 1e-8], False, id="was-as-low-lately"),
        pytest.param([*STEADY[1:], 1e-8], False, id="too-early"),
        pytest.param([*STEADY, 1e-8, 1.0], False, id="over"),
        pytest.param([*STEADY, 1e-8, 1e-9], False, id="stays-low"),
        pytest.param([0.0] * 5, False, id="always-zero"),
        pytest.param([*STEADY, nan], False, id="nan-now"),
        pytest.param([nan, *STEADY[1:], 1e-8], False, id="nan-in-the-window"),
        pytest.param([], False, id="no-reading"),
    ],
)
def test_check(norms: list[float], expected: bool) -> None:
    assert bool(problem.check(History(grad_norm=norms))) is expected


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([1.0] * 5, True, id="stands"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 0.5], True, id="at-the-limit"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 0.49], False, id="came-down-with-it"),
        pytest.param([4.0, 1.0, 0.8, 0.9, 0.41], True, id="against-the-lowest"),
        pytest.param([0.1, 1.0, 1.0, 1.0, 0.4], True, id="was-lower-lately"),
        pytest.param([0.1, 1.0, 1.0, 1.0, 1.0, 0.4], False, id="was-lower-long-ago"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 9.0], True, id="rose"),
        pytest.param([1.0, 1.0, 1.0, 1.0, nan], True, id="nan"),
        pytest.param([1.0, 1.0, 1.0, 0.1, 0.4], True, id="was-lower-just-before"),
        pytest.param([0.0, 1.0, 1.0, 1.0, 0.0], False, id="nothing-to-learn"),
        pytest.param([0.1], True, id="one"),
        pytest.param([], True, id="none"),
    ],
)
def test_a_loss_that_came_down_with_it(losses: list[float], expected: bool) -> None:
    norms = [*STEADY, *[1.0] * (len(losses) - 5), 1e-8]
    made = History(grad_norm=norms, loss=losses)
    assert bool(problem.check(made)) is expected


def test_a_norm_of_an_earlier_step_is_old_news() -> None:
    made = History(grad_norm=[*STEADY, 1e-8])
    made.append(Vitals(step=5, scalars={"loss": 1.0}))
    assert problem.check(made) is None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = History(grad_norm=STEADY)
    made.append(Vitals(step=4, epoch=2, scalars={"grad_norm": 1e-8}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("gradient_collapse", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (4, 2, ())
    assert finding.evidence == {"now": 1e-8, "low": 0.5}
    assert finding.message == (
        "gradient norm 1e-08, at least 0.5 in the 4 readings before (limit 0.000976562 times that)"
    )
