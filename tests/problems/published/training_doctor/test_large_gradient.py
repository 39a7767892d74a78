from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import LargeGradient
from sickbay.vitals import Vitals

STEADY = [1.0, 3.0, 1.0, 3.0]  # mean 2, standard deviation 1
problem = LargeGradient(limit=8.0, sigmas=3.0, window=4)


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param([8.0], False, id="at-the-limit"),
        pytest.param([8.001], True, id="above-the-limit"),
        pytest.param([*STEADY, 5.0], False, id="at-the-limit-of-the-window"),
        pytest.param([*STEADY, 5.001], True, id="above-the-limit-of-the-window"),
        pytest.param([*STEADY[1:], 5.001], False, id="too-early"),
        pytest.param([7.0, *STEADY, 5.001], True, id="forgets-what-left-the-window"),
        pytest.param([*STEADY[1:], 7.0, 5.001], False, id="before-it-another"),
        pytest.param([2.0**-20 * norm for norm in [*STEADY, 5.001]], True, id="any-scale-small"),
        pytest.param([2.0**-20 * norm for norm in [*STEADY, 5.0]], False, id="any-scale-at-limit"),
        pytest.param([2.0**20 * norm for norm in [*STEADY, 2.0]], True, id="any-scale-large"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 1.001], True, id="no-spread-as-published"),
        pytest.param([1.0] * 5, False, id="all-the-same"),
        pytest.param([0.1] * 5, False, id="all-the-same-and-rounded"),
        pytest.param([*STEADY, inf], True, id="overflow"),
        pytest.param([*STEADY, nan], False, id="nan"),
        pytest.param([nan, *STEADY[1:], 5.001], False, id="nan-in-the-window"),
        pytest.param([nan, *STEADY[1:], 8.001], True, id="nan-in-the-window-but-large"),
        pytest.param([inf, *STEADY[1:], 5.001], False, id="inf-in-the-window"),
        pytest.param([], False, id="no-norm"),
    ],
)
def test_check(norms: list[float], expected: bool) -> None:
    assert bool(problem.check(History(grad_norm=norms))) is expected


def test_the_published_window_is_fifty() -> None:
    steady = STEADY * 13  # 52 norms
    assert LargeGradient().check(History(grad_norm=[*steady[:50], 5.5])) is not None
    assert LargeGradient().check(History(grad_norm=[*steady[:49], 5.5])) is None
    assert LargeGradient().check(History(grad_norm=[10.0])) is None
    assert LargeGradient().check(History(grad_norm=[10.1])) is not None


@pytest.mark.parametrize(
    ("norms", "message", "evidence"),
    [
        pytest.param(
            [*STEADY, 6.0], "gradient norm 6 (limit 5)", {"norm": 6.0, "limit": 5.0}, id="window"
        ),
        pytest.param([9.0], "gradient norm 9 (limit 8)", {"norm": 9.0, "limit": 8.0}, id="fixed"),
    ],
)
def test_the_finding_names_the_step_and_the_numbers(
    norms: list[float], message: str, evidence: dict[str, float]
) -> None:
    made = History(grad_norm=norms)
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("large_gradient", "warning")
    assert (finding.step, finding.epoch) == (len(norms) - 1, 2)
    assert (finding.message, finding.evidence) == (message, evidence)
