from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.published.autotrainer import ExplodingGradient
from sickbay.vitals import Setup, Table, Vitals

HEALTHY, SICK = [0.5, 0.5, 0.5], [900.0, 30.0, 1.0]
problem = ExplodingGradient(ratio=64)


def history(
    readings: Sequence[Sequence[float]],
    spoilt: Sequence[float] = (),
    *,
    accuracy: Sequence[float] = (0.5,),
) -> History:
    made = History(accuracy=accuracy)
    for step, norms in enumerate(readings):
        rows = {f"{index}.weight": {"norm": norm} for index, norm in enumerate(norms)}
        for row, lost in zip(rows.values(), spoilt, strict=False):
            row["nonfinite"] = lost
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK], True, id="exploding"),
        pytest.param([[64.0, 1.0]], True, id="at-the-limit"),
        pytest.param([[64.0 * (1 - 1e-9), 1.0]], False, id="below-the-limit"),
        pytest.param([[1e-6 * norm for norm in SICK]], True, id="any-scale-small"),
        pytest.param([[1e6 * norm for norm in SICK]], True, id="any-scale-large"),
        pytest.param([[1e6, 1e6]], False, id="large-everywhere"),
        pytest.param([[1.0, 900.0, 1.0]], False, id="large-in-the-middle"),
        pytest.param([[1.0, 900.0]], False, id="large-at-the-end"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], True, id="since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([[nan, 1.0]], False, id="nan-first"),
        pytest.param([[900.0, nan]], False, id="nan-last"),
        pytest.param([[900.0, nan, 1.0]], True, id="nan-between"),
        pytest.param([[inf, 1.0]], False, id="inf-first"),
        pytest.param([[900.0, 0.0]], False, id="nothing-at-the-end"),
        pytest.param([[900.0]], False, id="one-layer"),
        pytest.param([[]], False, id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: bool) -> None:
    assert bool(problem.check(history(readings))) is expected


@pytest.mark.parametrize(
    ("norms", "spoilt", "expected"),
    [
        pytest.param(HEALTHY, [0, 3, 0], True, id="spoilt"),
        pytest.param(HEALTHY, [0, 0, 0], False, id="none-spoilt"),
        pytest.param(HEALTHY, [nan, nan, nan], False, id="not-measured"),
        pytest.param([nan], [1], True, id="one-layer"),
    ],
)
def test_nan_counts(norms: list[float], spoilt: list[float], expected: bool) -> None:
    assert bool(problem.check(history([norms], spoilt))) is expected


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [
        pytest.param([0.7], True, id="at-the-limit"),
        pytest.param([0.71], False, id="above-the-limit"),
        pytest.param([nan], False, id="nan"),
        pytest.param([], False, id="without-an-accuracy"),
    ],
)
@pytest.mark.parametrize("spoilt", [[], [1, 1, 1]], ids=["large", "nan"])
def test_only_while_the_accuracy_is_low(
    spoilt: list[float], accuracy: list[float], expected: bool
) -> None:
    assert bool(problem.check(history([SICK], spoilt, accuracy=accuracy))) is expected


def test_biases_are_left_out() -> None:
    shapes = {"n.weight": (4,), "a.weight": (4, 4), "b.weight": (4, 4), "b.bias": (4,)}
    made = History(Setup(shapes=shapes), accuracy=[0.1])
    norms = {"n.weight": 1.0, "a.weight": 100.0, "b.weight": 1.0, "b.bias": 90.0}
    rows = {name: {"norm": norm} for name, norm in norms.items()}
    made.append(Vitals(step=0, tables=[Table.of("gradient", 0, rows)]))
    finding = ExplodingGradient().check(made)
    assert finding is not None
    assert finding.layers == ("a",)


def test_the_finding_names_the_step_the_layer_and_the_numbers() -> None:
    made = history([HEALTHY, SICK, [1000.0, 30.0, 4.0]])
    made.append(Vitals(step=9, epoch=4, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("exploding_gradient", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (2, 4, ("0",))
    assert finding.evidence == {"first": 1000.0, "last": 4.0, "ratio": 250.0}
    assert finding.message == "gradient norm 1e+03, first/last 250 (limit 64)"


def test_the_finding_of_nan_names_the_layers_in_order() -> None:
    finding = problem.check(history([SICK, SICK], [0, 3, 2]))
    assert finding is not None
    assert (finding.step, finding.layers) == (1, ("1", "2"))
    assert finding.message == "2 of 3 gradients hold NaN or Inf"
