from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import AbnormalData
from sickbay.problems.published.autotrainer.abnormal_data import MEASURES
from sickbay.vitals import Table, Vitals

HEALTHY, SICK = [0.5, 0.5, 0.5], [0.5, 40.0, 0.5]
by_mean = AbnormalData(limit=8, measure="mean")
by_largest = AbnormalData(limit=8)


def history(
    readings: Sequence[Sequence[float]],
    lost: Sequence[float] = (),
    *,
    column: str = "mean_abs",
    accuracy: Sequence[float] = (0.5,),
    val_accuracy: Sequence[float] = (),
) -> History:
    made = History(accuracy=accuracy, val_accuracy=val_accuracy)
    for step, sizes in enumerate(readings):
        rows = {str(index): {column: size} for index, size in enumerate(sizes)}
        for row, count in zip(rows.values(), lost, strict=False):
            row["nonfinite"] = count
        made.append(Vitals(step=step, tables=[Table.of("activation", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("sizes", "lost", "mean", "largest"),
    [
        pytest.param(SICK, [], True, True, id="large"),
        pytest.param([8.0, 0.5], [], True, True, id="at-the-limit"),
        pytest.param([7.99, 0.5], [], False, False, id="below-the-limit"),
        pytest.param([0.5, 40.0], [], False, True, id="large-at-the-end"),
        pytest.param([40.0], [], False, True, id="one-layer"),
        pytest.param([value * 1e-3 for value in SICK], [], False, False, id="any-scale-small"),
        pytest.param([value * 1e3 for value in SICK], [], True, True, id="any-scale-large"),
        pytest.param(HEALTHY, [0, 1, 0], True, True, id="not-finite"),
        pytest.param(HEALTHY, [0, 0, 3], False, True, id="not-finite-at-the-end"),
        pytest.param([nan, 0.5], [3, 0], True, True, id="nothing-finite"),
        pytest.param([nan, nan], [nan, nan], False, False, id="nan-not-measured"),
        pytest.param([inf, 0.5], [], True, True, id="overflow"),
        pytest.param(HEALTHY, [0, 0, 0], False, False, id="healthy"),
        pytest.param([], [], False, False, id="no-layer"),
    ],
)
def test_check(sizes: list[float], lost: list[float], mean: bool, largest: bool) -> None:
    assert bool(by_mean.check(history([sizes], lost))) is mean
    assert bool(by_largest.check(history([sizes], lost, column="absmax"))) is largest


def test_each_rule_reads_its_own_column() -> None:
    assert by_mean.check(history([SICK], column="absmax")) is None
    assert by_largest.check(history([SICK], column="mean_abs")) is None


@pytest.mark.parametrize(
    ("readings", "checks", "expected"),
    [
        pytest.param([SICK], 1, True, id="one-is-enough"),
        pytest.param([SICK], 2, False, id="too-early"),
        pytest.param([SICK, SICK], 2, True, id="two-in-a-row"),
        pytest.param([HEALTHY, SICK], 2, False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], 1, False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], 2, True, id="forgets-what-was-before"),
        pytest.param([], 1, False, id="no-reading"),
    ],
)
def test_readings_in_a_row(readings: list[list[float]], checks: int, expected: bool) -> None:
    made = history(readings, column="absmax")
    assert bool(AbnormalData(checks=checks).check(made)) is expected


@pytest.mark.parametrize(
    ("accuracy", "val_accuracy", "expected"),
    [
        pytest.param([0.7], [], True, id="accuracy-at-the-limit"),
        pytest.param([0.71], [], False, id="accuracy-above-the-limit"),
        pytest.param([0.9, 0.2], [], True, id="a-lucky-batch"),
        pytest.param([], [0.2], True, id="validation-accuracy-low"),
        pytest.param([0.2], [0.9], True, id="validation-accuracy-above-the-limit"),
        pytest.param([], [], False, id="no-accuracy"),
        pytest.param([nan], [], False, id="accuracy-nan"),
    ],
)
def test_only_while_the_accuracy_is_low(
    accuracy: list[float], val_accuracy: list[float], expected: bool
) -> None:
    made = history([SICK], accuracy=accuracy, val_accuracy=val_accuracy)
    assert bool(by_mean.check(made)) is expected


@pytest.mark.parametrize(
    ("problem", "lost", "message", "layers"),
    [
        pytest.param(by_mean, [], "mean |output| 9 (limit 8)", ("0", "2"), id="mean"),
        pytest.param(by_largest, [], "largest |output| 9 (limit 8)", ("0", "2", "3"), id="largest"),
        pytest.param(by_mean, [1], "output has 1 NaN or Inf", ("0", "2"), id="not-finite"),
    ],
)
def test_the_finding_names_the_step_the_layers_and_the_numbers(
    problem: AbnormalData, lost: list[float], message: str, layers: tuple[str, ...]
) -> None:
    column = MEASURES[problem.measure]
    made = history([HEALTHY, [9.0, 0.5, 40.0, 40.0]], column=column)
    sick = made.tables("activation", 1)[0]
    rows = {name: sick.row(name) for name in sick.names}
    rows["0"]["nonfinite"] = lost[0] if lost else 0
    made.append(Vitals(step=5, tables=[Table.of("activation", 5, rows)]))
    made.append(Vitals(step=9, epoch=4, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("abnormal_data", "warning")
    assert (finding.step, finding.epoch) == (5, 4)
    assert (finding.message, finding.layers) == (message, layers)
    assert finding.evidence == {"size": 9.0}
