from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import ExplodingGradient
from sickbay.problems.profiles import choose
from sickbay.vitals import Setup, Table, Vitals

HEALTHY, SICK = [0.5, 0.5, 0.5], [900.0, 30.0, 1.0]
problem = ExplodingGradient(ratio=64, checks=2)
strict = ExplodingGradient(ratio=64, checks=2, nonfinite=1)


def history(
    readings: Sequence[Sequence[float]],
    spoilt: Sequence[Sequence[float]] = (),
    *,
    loss: Sequence[float] = (1.0, 1.0),
    accuracy: Sequence[float] = (),
) -> History:
    made = History(loss=loss, accuracy=accuracy)
    for step, norms in enumerate(readings):
        rows = {f"{index}.weight": {"norm": norm} for index, norm in enumerate(norms)}
        for row, lost in zip(rows.values(), spoilt[step] if spoilt else (), strict=False):
            row["nonfinite"] = lost
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK, SICK], True, id="exploding"),
        pytest.param([[64.0, 1.0]] * 2, True, id="at-the-limit"),
        pytest.param([[64.0 * (1 - 1e-9), 1.0]] * 2, False, id="below-the-limit"),
        pytest.param([[1e-6 * norm for norm in SICK]] * 2, True, id="any-scale-small"),
        pytest.param([[1e6 * norm for norm in SICK]] * 2, True, id="any-scale-large"),
        pytest.param([[1e6, 1e6]] * 2, False, id="large-everywhere"),
        pytest.param([[1.0, 900.0, 1.0]] * 2, False, id="large-in-the-middle"),
        pytest.param([[1.0, 900.0]] * 2, False, id="large-at-the-end"),
        pytest.param([SICK], False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], True, id="forgets-what-left-the-window"),
        pytest.param([[nan, 1.0]] * 2, False, id="nan-first"),
        pytest.param([[900.0, nan]] * 2, False, id="nan-last"),
        pytest.param([[900.0, nan, 1.0]] * 2, True, id="nan-between"),
        pytest.param([[inf, 1.0]] * 2, False, id="inf-first"),
        pytest.param([[900.0, 0.0]] * 2, False, id="nothing-at-the-end"),
        pytest.param([[900.0]] * 2, False, id="one-layer"),
        pytest.param([[]] * 2, False, id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: bool) -> None:
    assert bool(problem.check(history(readings))) is expected
    assert bool(strict.check(history(readings))) is expected


@pytest.mark.parametrize(
    ("readings", "spoilt", "expected"),
    [
        pytest.param([HEALTHY] * 2, [[0, 3, 0]] * 2, True, id="spoilt"),
        pytest.param([HEALTHY] * 2, [[0, 0, 0]] * 2, False, id="none-spoilt"),
        pytest.param([HEALTHY] * 2, [[nan, nan, nan]] * 2, False, id="not-measured"),
        pytest.param([HEALTHY] * 2, [[0, 0, 0], [0, 3, 0]], False, id="only-since-now"),
        pytest.param([HEALTHY] * 2, [[0, 3, 0], [0, 0, 0]], False, id="no-more"),
        pytest.param([SICK, HEALTHY], [[0, 0, 0], [3, 0, 0]], True, id="large-then-spoilt"),
        pytest.param([HEALTHY, SICK], [[3, 0, 0], [0, 0, 0]], True, id="spoilt-then-large"),
        pytest.param([[nan]] * 2, [[1]] * 2, True, id="one-layer"),
    ],
)
def test_nan_counts_only_where_asked(
    readings: list[list[float]], spoilt: list[list[float]], expected: bool
) -> None:
    assert bool(strict.check(history(readings, spoilt))) is expected
    assert problem.check(history(readings, spoilt)) is None


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        pytest.param([1.0], [0.7], True, id="accuracy-at-the-limit"),
        pytest.param([1.0], [0.71], False, id="accuracy-above-the-limit"),
        pytest.param([1.0, *[0.1] * 10], [], False, id="loss-fell"),
        pytest.param([1.0, *[0.1] * 10], [0.5], True, id="loss-fell-but-accuracy-is-low"),
        pytest.param([1.0, 1.0], [], True, id="loss-stays"),
    ],
)
@pytest.mark.parametrize("kind", [problem, strict], ids=["large", "or-nan"])
def test_only_while_it_learns_badly(
    kind: ExplodingGradient, loss: list[float], accuracy: list[float], expected: bool
) -> None:
    sick = history([SICK, SICK], [[1, 1, 1]] * 2, loss=loss, accuracy=accuracy)
    assert bool(kind.check(sick)) is expected


def test_as_published_it_needs_an_accuracy_and_counts_nan() -> None:
    (published,) = choose("autotrainer", ["exploding_gradient"])
    assert published.check(history([SICK])) is None
    assert published.check(history([SICK], accuracy=[0.5])) is not None
    assert published.check(history([HEALTHY], [[0, 1, 0]], accuracy=[0.5])) is not None


def test_biases_are_left_out() -> None:
    shapes = {"n.weight": (4,), "a.weight": (4, 4), "b.weight": (4, 4), "b.bias": (4,)}
    made = History(Setup(shapes=shapes), loss=[1.0])
    norms = {"n.weight": 1.0, "a.weight": 100.0, "b.weight": 1.0, "b.bias": 90.0}
    rows = {name: {"norm": norm} for name, norm in norms.items()}
    made.append(Vitals(step=0, tables=[Table.of("gradient", 0, rows)]))
    finding = ExplodingGradient(checks=1, ratio=70).check(made)
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
    finding = strict.check(history([SICK, SICK], [[1, 0, 0], [0, 3, 2]]))
    assert finding is not None
    assert (finding.step, finding.layers) == (1, ("1", "2"))
    assert finding.message == "2 of 3 gradients hold NaN or Inf"


@pytest.mark.parametrize(
    ("kind", "spoilt"),
    [
        pytest.param(problem, [1, 1, 1], id="nan-does-not-count"),
        pytest.param(strict, [0, 0, 0], id="no-nan"),
    ],
)
def test_the_finding_is_of_the_ratio_otherwise(
    kind: ExplodingGradient, spoilt: list[float]
) -> None:
    finding = kind.check(history([SICK, SICK], [spoilt, spoilt]))
    assert finding is not None
    assert finding.evidence == {"first": 900.0, "last": 1.0, "ratio": 900.0}


def weighed(gradient: float, weight: float, update: float, step: int = 0) -> History:
    made = History(loss=[1.0])
    rows = {"a.weight": {"norm": gradient}, "b.weight": {"norm": 1.0}, "b.bias": {"norm": 1e9}}
    sizes = {
        "a.weight": {"norm": weight, "update_ratio": update},
        "b.weight": {"norm": 1.0, "update_ratio": 0.01},
        "b.bias": {"norm": 1e-9, "update_ratio": 50.0},
    }
    made.setup = Setup(shapes={"a.weight": (2, 2), "b.weight": (2, 2), "b.bias": (2,)})
    tables = [Table.of("gradient", 0, rows), Table.of("weight", step, sizes)]
    made.append(Vitals(step=step, tables=tables))
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(weighed(101.0, 1.0, 2.0), True, id="far-too-large"),
        pytest.param(weighed(100.0, 1.0, 2.0), False, id="at-the-limit"),
        pytest.param(weighed(101e-6, 1e-6, 2.0), True, id="any-scale"),
        pytest.param(weighed(1e9, 1.0, 1.0), False, id="the-step-is-small-all-the-same"),
        pytest.param(weighed(1e9, 1.0, 2.0, step=1), False, id="of-different-steps"),
        pytest.param(weighed(nan, 1.0, 2.0), False, id="nan"),
        pytest.param(weighed(inf, 1.0, inf), True, id="overflow"),
    ],
)
def test_gradients_against_weights(made: History, expected: bool) -> None:
    assert bool(ExplodingGradient(relative=100).check(made)) is expected


def test_the_finding_names_the_worst_layer() -> None:
    finding = ExplodingGradient(relative=100).check(weighed(600.0, 2.0, 3.0))
    assert finding is not None
    assert (finding.layers, finding.evidence) == (("a",), {"relative": 300.0})
    assert finding.message == "the gradient is 3e+02 times as large as the weight (limit 100)"
