from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import LossExplosion
from sickbay.vitals import Vitals

problem = LossExplosion()


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([10.0], False, id="at-the-limit"),
        pytest.param([10.001], True, id="above-the-limit"),
        pytest.param([1.0, 2.0], False, id="at-the-limit-of-the-jump"),
        pytest.param([1.0, 2.001], True, id="above-the-limit-of-the-jump"),
        pytest.param([1.0, 1.5, 2.5], False, id="in-two-steps"),
        pytest.param([5.0, 4.0, 1.0], False, id="falling"),
        pytest.param([1.0, 3.0, 3.0], False, id="no-more"),
        pytest.param([1e-9, 2.001e-9], True, id="any-scale-small"),
        pytest.param([1e9, 0.9e9], True, id="any-scale-large"),
        pytest.param([0.0, 1e-9], True, id="from-zero-as-published"),
        pytest.param([-1.0, -1.5], True, id="below-zero-as-published"),
        pytest.param([9.0], False, id="too-early"),
        pytest.param([-1.0], False, id="too-early-below-zero"),
        pytest.param([], False, id="no-loss"),
        pytest.param([1.0, nan], False, id="nan"),
        pytest.param([nan, 9.0], False, id="after-nan"),
        pytest.param([nan, 10.001], True, id="after-nan-but-large"),
        pytest.param([1.0, inf], True, id="inf"),
        pytest.param([inf, inf], True, id="inf-again"),
    ],
)
def test_check(losses: list[float], expected: bool) -> None:
    assert bool(problem.check(History(loss=losses))) is expected


@pytest.mark.parametrize(
    ("losses", "message", "evidence"),
    [
        pytest.param([12.0], "loss 12 (limit 10)", {"loss": 12.0}, id="large"),
        pytest.param([12.0, 11.0], "loss 11 (limit 10)", {"loss": 11.0}, id="still-large"),
        pytest.param(
            [1.0, 3.0],
            "loss 3 after 1 (limit 2 times that)",
            {"loss": 3.0, "before": 1.0},
            id="jump",
        ),
    ],
)
def test_the_finding_names_the_step_and_the_numbers(
    losses: list[float], message: str, evidence: dict[str, float]
) -> None:
    made = History(loss=losses)
    made.append(Vitals(step=9, epoch=2, scalars={"grad_norm": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("loss_explosion", "warning")
    assert (finding.step, finding.epoch) == (len(losses) - 1, 2)
    assert (finding.message, finding.evidence) == (message, evidence)
