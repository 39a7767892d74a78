from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import GradientSpike
from sickbay.problems.shared.recent_norms import STEPS as EARLY
from sickbay.vitals import Vitals

STEADY = [0.5, 1.0, 2.0, 1.0] * EARLY
WINDOW = EARLY + 8
problem = GradientSpike(factor=8, window=WINDOW)


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param([*STEADY, 40.0], True, id="jump"),
        pytest.param([*STEADY, inf], True, id="overflow"),
        pytest.param([*STEADY, 16.0], False, id="at-the-limit"),
        pytest.param([*STEADY, 16.1], True, id="above-the-limit"),
        pytest.param([1e-30 * norm for norm in [*STEADY, 40.0]], True, id="any-scale-small"),
        pytest.param([1e30 * norm for norm in [*STEADY, 16.0]], False, id="any-scale-large"),
        pytest.param([99.0, *STEADY[:WINDOW], 16.1], True, id="forgets-what-left-the-window"),
        pytest.param([99.0, *STEADY[1:WINDOW], 40.0], False, id="was-as-high-lately"),
        pytest.param([*STEADY, 39.0, 40.0], False, id="stays-high"),
        pytest.param([*STEADY[:EARLY], 40.0], True, id="early"),
        pytest.param([*STEADY[1:EARLY], 40.0], False, id="too-early"),
        pytest.param([*STEADY, 40.0, 1.0], False, id="over"),
        pytest.param([0.0] * WINDOW + [1.0], False, id="from-zero"),
        pytest.param([*STEADY, nan], False, id="nan-now"),
        pytest.param([nan, *STEADY[1:WINDOW], 40.0], False, id="nan-in-the-window"),
        pytest.param([], False, id="no-reading"),
    ],
)
def test_check(norms: list[float], expected: bool) -> None:
    assert bool(problem.check(History(grad_norm=norms))) is expected


def test_a_norm_of_an_earlier_step_is_old_news() -> None:
    made = History(grad_norm=[*STEADY, 40.0])
    made.append(Vitals(step=made.step + 1, scalars={"loss": 1.0}))
    assert problem.check(made) is None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = History(grad_norm=STEADY)
    made.append(Vitals(step=len(STEADY), epoch=2, scalars={"grad_norm": 40.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("gradient_spike", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (len(STEADY), 2, ())
    assert finding.evidence == {"now": 40.0, "high": 2.0, "usual_norm": 2.0}
    assert finding.message == (
        f"gradient norm 40, at most 2 in the {WINDOW} readings before (limit 8 times that)"
    )


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param(0.05, False, id="hardly-any-loss-is-left"),
        pytest.param(0.051, True, id="some-is"),
        pytest.param(nan, True, id="nan"),
    ],
)
def test_a_jump_near_the_minimum(level: float, expected: bool) -> None:
    norms = [*STEADY, 40.0]
    made = History(grad_norm=norms)
    for step, loss in enumerate([1.0, *[level] * (len(norms) - 1)]):
        made.append(Vitals(step=step, scalars={"loss": loss}))
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(("loss", "severity"), [(1.1, "info"), (1.3, "warning")])
def test_it_is_an_info_while_the_loss_stays_where_it_was(loss: float, severity: str) -> None:
    losses = [*(len(STEADY) // 2) * [1.0, 1.2], loss]
    finding = problem.check(History(grad_norm=[*STEADY, 40.0], loss=losses))
    assert finding is not None
    assert finding.severity == severity
