from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import LayerImbalance
from sickbay.vitals import Setup, Table, Vitals

SICK, HEALTHY = [2.0**-20, 0.25, 0.5], [0.25, 0.5, 1.0]
problem = LayerImbalance(factor=1024, checks=2)


def history(readings: Sequence[Sequence[float]], setup: Setup | None = None) -> History:
    made = History(setup, loss=[1.0])
    for step, ratios in enumerate(readings):
        rows = {f"{'abcd'[at]}.weight": {"update_ratio": each} for at, each in enumerate(ratios)}
        made.append(Vitals(step=step, tables=[Table.of("weight", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK] * 2, True, id="slow-at-the-start"),
        pytest.param([SICK[::-1]] * 2, True, id="slow-at-the-end"),
        pytest.param([[2.0**-10, 1.0]] * 2, False, id="at-the-limit"),
        pytest.param([[2.0**-10, 1.001]] * 2, True, id="above-the-limit"),
        pytest.param([[2.0**-60, 2.0**-49]] * 2, True, id="any-scale-small"),
        pytest.param([[2.0**50, 2.0**60]] * 2, False, id="any-scale-large"),
        pytest.param([SICK], False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], True, id="forgets-what-left-the-window"),
        pytest.param([[0.0, 0.5, 1.0]] * 2, False, id="one-does-not-change"),
        pytest.param([[0.0, 2.0**-20, 1.0]] * 2, True, id="two-others"),
        pytest.param([[0.0, 0.0]] * 2, False, id="none-changes"),
        pytest.param([[nan, 0.5, 1.0]] * 2, False, id="nan"),
        pytest.param([[nan, 2.0**-20, 1.0]] * 2, True, id="nan-beside"),
        pytest.param([[nan, nan]] * 2, False, id="nan-everywhere"),
        pytest.param([[1.0, inf]] * 2, True, id="inf"),
        pytest.param([[inf, inf]] * 2, False, id="inf-everywhere"),
        pytest.param([[1e-9]] * 2, False, id="one-layer"),
        pytest.param([[]] * 2, False, id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: bool) -> None:
    assert bool(problem.check(history(readings))) is expected


def test_biases_and_embeddings_are_left_out() -> None:
    shapes = {"a.weight": (4,), "b.weight": (9, 4), "c.weight": (4, 4), "d.weight": (4, 4)}
    setup = Setup(shapes=shapes, layers={"b": "Embedding"})
    assert problem.check(history([[1e-9, 1e-9, 0.5, 1.0]] * 2, setup)) is None
    finding = problem.check(history([[1e-9, 1e-9, 1.0, 1e-6]] * 2, setup))
    assert finding is not None
    assert finding.layers == ("d", "c")


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([SICK, [0.0, 0.5, 2.0**-21, 0.125]])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("layer_imbalance", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (1, 2, ("c", "b"))
    assert finding.evidence == {"factor": 2.0**20}
    assert finding.message == "b changes 1e+06 times as fast as c (limit 1024)"
