from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import AbnormalGradient
from sickbay.vitals import Setup, Table, Vitals

HEALTHY, SICK = [0.5, 0.5, 0.5], [9e4, 2e4, 1e4]
problem = AbnormalGradient()


def table(means: Sequence[float], lost: Sequence[float] = (), step: int = 0) -> Table:
    rows = {f"{index}.weight": {"mean_abs": mean} for index, mean in enumerate(means)}
    for row, count in zip(rows.values(), lost, strict=False):
        row["nonfinite"] = count
    return Table.of("gradient", step, rows)


def history(*tables: Table, setup: Setup | None = None) -> History:
    made = History(setup)
    for each in tables:
        made.append(Vitals(step=each.step, tables=[each]))
        made.end_epoch(loss=1.0)
    return made


@pytest.mark.parametrize(
    ("means", "lost", "expected"),
    [
        pytest.param(SICK, [], True, id="large"),
        pytest.param([1e4] * 3, [], False, id="at-the-limit"),
        pytest.param([10000.001] * 3, [], True, id="above-the-limit"),
        pytest.param([1e9, 1.0, 1.0], [], False, id="large-in-one-layer"),
        pytest.param([1.0, 3e4], [], True, id="median-of-two"),
        pytest.param([1.0, 1.9e4], [], False, id="median-of-two-below"),
        pytest.param([2e4], [], True, id="one-layer"),
        pytest.param([value * 1e-5 for value in SICK], [], False, id="any-scale-small"),
        pytest.param([value * 1e5 for value in SICK], [], True, id="any-scale-large"),
        pytest.param(HEALTHY, [0, 1, 0], True, id="not-finite"),
        pytest.param(HEALTHY, [0, 0, 0], False, id="healthy"),
        pytest.param([nan, nan], [nan, nan], False, id="nan-not-measured"),
        pytest.param([nan, 2e4, 2e4], [], True, id="nan-in-one-layer"),
        pytest.param([inf] * 3, [], True, id="overflow"),
        pytest.param([], [], False, id="no-layer"),
    ],
)
def test_check(means: list[float], lost: list[float], expected: bool) -> None:
    assert bool(problem.check(history(table(means, lost)))) is expected


def test_only_the_newest_epoch_counts() -> None:
    assert problem.check(history()) is None
    assert problem.check(history(table(SICK), table(HEALTHY, step=1))) is None
    assert problem.check(history(table(HEALTHY), table(SICK, step=1))) is not None


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        pytest.param([table([3e4] * 3), table([1.0] * 3, step=1)], True, id="large-on-average"),
        pytest.param([table([1.0] * 3), table([1.9e4] * 3, step=1)], False, id="last-step-only"),
        pytest.param([table(HEALTHY, [1, 0, 0]), table(HEALTHY, [0, 0, 0])], True, id="nan-once"),
    ],
)
def test_the_mean_of_the_epoch_counts(tables: list[Table], expected: bool) -> None:
    made = History()
    for each in tables:
        made.append(Vitals(step=each.step, tables=[each]))
    made.end_epoch(loss=1.0)
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize("epochs", [None, 1, 2, 100])
def test_any_stage(epochs: int | None) -> None:
    assert problem.check(history(table(SICK), setup=Setup(epochs=epochs))) is not None


def test_biases_count_only_where_they_are_not_finite() -> None:
    setup = Setup(shapes={"0.weight": (4, 4), "1.weight": (4,), "2.weight": (4,)})
    assert problem.check(history(table([1.0, 1e9, 1e9]), setup=setup)) is None
    assert problem.check(history(table([1.0, 1.0, 1.0], [0, 0, 1]), setup=setup)) is not None


@pytest.mark.parametrize(
    ("lost", "message", "layers", "evidence"),
    [
        pytest.param(
            [],
            "mean |gradient| 2e+04 in the median layer (limit 10000)",
            ("0", "1"),
            {"median": 2e4},
            id="large",
        ),
        pytest.param([0, 2, 1], "2 of 3 gradients hold NaN or Inf", ("1", "2"), {}, id="nan"),
    ],
)
def test_the_finding_names_the_step_the_layers_and_the_numbers(
    lost: list[float], message: str, layers: tuple[str, ...], evidence: dict[str, float]
) -> None:
    made = history(table(HEALTHY), table(SICK, lost, step=7))
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("abnormal_gradient", "critical")
    assert (finding.step, finding.epoch) == (7, 2)
    assert (finding.message, finding.layers) == (message, layers)
    assert finding.evidence == evidence
