from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import SmallGradient
from sickbay.vitals import Vitals

STEADY = [7.0, 9.0, 7.0, 9.0]  # mean 8, standard deviation 1
problem = SmallGradient(limit=0.5, sigmas=3.0, window=4)


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param([0.5], False, id="at-the-limit"),
        pytest.param([0.499], True, id="below-the-limit"),
        pytest.param([0.0], True, id="zero"),
        pytest.param([*STEADY, 5.0], False, id="at-the-limit-of-the-window"),
        pytest.param([*STEADY, 4.999], True, id="below-the-limit-of-the-window"),
        pytest.param([*STEADY[1:], 4.999], False, id="too-early"),
        pytest.param([1.0, *STEADY, 4.999], True, id="forgets-what-left-the-window"),
        pytest.param([*STEADY[1:], 1.0, 4.999], False, id="before-it-another"),
        pytest.param([1.0, 3.0, 1.0, 3.0, 0.5], False, id="limit-below-zero-is-the-fixed-one"),
        pytest.param([1.0, 3.0, 1.0, 3.0, 0.499], True, id="limit-below-zero-and-small"),
        pytest.param([2.0**20 * norm for norm in [*STEADY, 4.999]], True, id="any-scale-large"),
        pytest.param([2.0**20 * norm for norm in [*STEADY, 5.0]], False, id="any-scale-at-limit"),
        pytest.param([2.0**-20 * norm for norm in [*STEADY, 8.0]], True, id="any-scale-small"),
        pytest.param([8.0, 8.0, 8.0, 8.0, 7.999], True, id="no-spread-as-published"),
        pytest.param([8.1] * 5, False, id="all-the-same-and-rounded"),
        pytest.param([*STEADY, nan], False, id="nan"),
        pytest.param([*STEADY, inf], False, id="inf"),
        pytest.param([nan, *STEADY[1:], 4.999], False, id="nan-in-the-window"),
        pytest.param([nan, *STEADY[1:], 0.499], True, id="nan-in-the-window-but-small"),
        pytest.param([inf, *STEADY[1:], 4.999], False, id="inf-in-the-window"),
        pytest.param([], False, id="no-norm"),
    ],
)
def test_check(norms: list[float], expected: bool) -> None:
    assert bool(problem.check(History(grad_norm=norms))) is expected


def test_the_published_window_is_fifty() -> None:
    steady = STEADY * 13  # 52 norms
    assert SmallGradient().check(History(grad_norm=[*steady[:50], 4.5])) is not None
    assert SmallGradient().check(History(grad_norm=[*steady[:49], 4.5])) is None
    assert SmallGradient().check(History(grad_norm=[1e-7])) is None
    assert SmallGradient().check(History(grad_norm=[0.99e-7])) is not None


@pytest.mark.parametrize(
    ("norms", "message", "evidence"),
    [
        pytest.param(
            [*STEADY, 4.0], "gradient norm 4 (limit 5)", {"norm": 4.0, "limit": 5.0}, id="window"
        ),
        pytest.param(
            [0.25], "gradient norm 0.25 (limit 0.5)", {"norm": 0.25, "limit": 0.5}, id="fixed"
        ),
    ],
)
def test_the_finding_names_the_step_and_the_numbers(
    norms: list[float], message: str, evidence: dict[str, float]
) -> None:
    made = History(grad_norm=norms)
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("small_gradient", "warning")
    assert (finding.step, finding.epoch) == (len(norms) - 1, 2)
    assert (finding.message, finding.evidence) == (message, evidence)
