from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import UnstableGradient
from sickbay.vitals import Vitals

AT = [1.0, 3.0, 1.0, 3.0]  # mean 2, standard deviation 1
WILD = [1.0, 3.01, 1.0, 3.01]
problem = UnstableGradient(ratio=0.5, window=4)


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param(AT, False, id="at-the-limit"),
        pytest.param(WILD, True, id="above-the-limit"),
        pytest.param(WILD[1:], False, id="too-early"),
        pytest.param([9.0, *AT], False, id="forgets-a-large-one"),
        pytest.param([2.0, *WILD], True, id="forgets-a-usual-one"),
        pytest.param([2.0] * 4, False, id="steady"),
        pytest.param([0.0] * 4, False, id="zero"),
        pytest.param([2.0**-30 * norm for norm in WILD], True, id="any-scale-small"),
        pytest.param([2.0**30 * norm for norm in WILD], True, id="any-scale-large"),
        pytest.param([2.0**30 * norm for norm in AT], False, id="any-scale-at-the-limit"),
        pytest.param([*WILD[1:], nan], False, id="nan"),
        pytest.param([nan, *WILD], True, id="nan-before-the-window"),
        pytest.param([*WILD[1:], inf], False, id="inf"),
        pytest.param([], False, id="no-norm"),
    ],
)
def test_check(norms: list[float], expected: bool) -> None:
    assert bool(problem.check(History(grad_norm=norms))) is expected


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param([0.0] * 49 + [1.0], 7.0, id="one-of-fifty"),  # sqrt(49)
        pytest.param([0.0] * 40 + [1.0] * 10, None, id="ten-of-fifty"),  # sqrt(4), at the limit
        pytest.param([0.0] * 48 + [1.0], None, id="too-early"),
    ],
)
def test_by_hand_with_the_published_thresholds(norms: list[float], expected: float | None) -> None:
    finding = UnstableGradient().check(History(grad_norm=norms))
    assert (finding and finding.evidence["ratio"]) == (expected and pytest.approx(expected))


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = History(grad_norm=[9.0, 0.0, 2.0, 0.0, 2.0])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("unstable_gradient", "warning")
    assert (finding.step, finding.epoch) == (4, 2)
    assert finding.evidence == {"ratio": 1.0}
    assert finding.message == "gradient norm varies by 1 times its mean over 4 steps (limit 0.5)"
