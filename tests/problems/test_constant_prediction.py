from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import ConstantPrediction
from sickbay.vitals import Table, Vitals

LIMIT = 2.0**-10
SICK, HEALTHY = 1e-6, 0.5
problem = ConstantPrediction(spread=LIMIT, checks=3, after=2, loss_drop=0.25, accuracy=0.7)


def history(
    spreads: Sequence[float],
    *,
    loss: Sequence[float] = (1.0, 1.0),
    accuracy: Sequence[float] = (),
) -> History:
    return History(output_spread=spreads, loss=loss, accuracy=accuracy)


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [
        pytest.param([SICK] * 5, True, id="constant"),
        pytest.param([0.0] * 5, True, id="exactly-constant"),
        pytest.param([LIMIT] * 5, False, id="at-the-limit"),
        pytest.param([LIMIT / 1.01] * 5, True, id="below-the-limit"),
        pytest.param([SICK] * 4, False, id="too-early"),
        pytest.param([HEALTHY, HEALTHY, SICK, SICK, SICK], True, id="forgets-what-was-before"),
        pytest.param([SICK, SICK, HEALTHY, SICK, SICK], False, id="not-long-enough"),
        pytest.param([SICK, SICK, SICK, HEALTHY, SICK], False, id="another-between"),
        pytest.param([SICK] * 5 + [HEALTHY], False, id="no-more"),
        pytest.param([SICK, SICK, nan, SICK, SICK], False, id="nan"),
        pytest.param([], False, id="no-reading"),
    ],
)
def test_check(spreads: list[float], expected: bool) -> None:
    assert bool(problem.check(history(spreads))) is expected


def test_readings_need_not_be_of_every_step() -> None:
    made = History(loss=[1.0] * 30)
    for step, expected in ((0, False), (10, False), (20, False), (29, True)):
        made.append(Vitals(step=step, scalars={"output_spread": SICK}))
        assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param({"target": {"minimum": 0.0, "maximum": 1.0}}, True, id="differ"),
        pytest.param({"target": {"minimum": 1.0, "maximum": 1.0}}, False, id="all-the-same"),
        pytest.param({"target": {"minimum": 1e-30, "maximum": 2e-30}}, True, id="any-scale"),
        pytest.param({"output": {"minimum": 1.0, "maximum": 1.0}}, True, id="not-known"),
    ],
)
def test_only_where_the_targets_differ(rows: dict[str, dict[str, float]], expected: bool) -> None:
    made = history([SICK] * 5)
    made.append(Vitals(step=4, tables=[Table.of("batch", 4, rows)]))
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        pytest.param([1.0, *[0.75] * 10], [], True, id="loss-at-the-limit"),
        pytest.param([1.0, *[0.74] * 10], [], False, id="loss-below-the-limit"),
        pytest.param([1.0], [0.7], True, id="accuracy-at-the-limit"),
        pytest.param([1.0], [0.71], False, id="accuracy-above-the-limit"),
        pytest.param([], [], True, id="no-loss"),
    ],
)
def test_only_while_it_learns_badly(
    loss: list[float], accuracy: list[float], expected: bool
) -> None:
    assert bool(problem.check(history([SICK] * 5, loss=loss, accuracy=accuracy))) is expected


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = history([HEALTHY, HEALTHY, 1e-6, 3e-6, 2e-6])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("constant_prediction", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (4, 2, ())
    assert finding.evidence == {"spread": 3e-6}
    assert finding.message == (
        "outputs differ between samples by 3e-06 of their size (limit 0.000976562)"
    )
