from collections.abc import Mapping, Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import UnnormalisedInput
from sickbay.vitals import Setup, Table, Vitals

problem = UnnormalisedInput(size=8, passed=4, extreme=8)
patient = UnnormalisedInput(size=8, passed=4, extreme=64, after=20)
Rows = Mapping[str, Mapping[str, float]]
MORE = 1 + 1e-9


def row(rms: float, count: float = 16.0) -> dict[str, float]:
    return {"norm": rms * count**0.5, "count": count}


def history(batch: Rows | None, layers: Rows | None) -> History:
    made = History(loss=[1.0])
    if batch is not None:
        made.append(Vitals(step=0, tables=[Table.of("batch", 0, batch)]))
    if layers is not None:
        made.append(Vitals(step=0, tables=[Table.of("activation", 0, layers)]))
    return made


@pytest.mark.parametrize(
    ("size", "passed", "expected"),
    [
        pytest.param(100.0, 90.0, True, id="large"),
        pytest.param(8.0, 90.0, False, id="at-the-limit-of-the-inputs"),
        pytest.param(8.0 * MORE, 90.0, True, id="above-the-limit-of-the-inputs"),
        pytest.param(100.0, 4.0, False, id="at-the-limit-of-the-first-layer"),
        pytest.param(100.0, 4.0 * MORE, True, id="above-the-limit-of-the-first-layer"),
        pytest.param(1.0, 90.0, False, id="the-first-layer-by-itself"),
        pytest.param(255.0, 1.0, False, id="a-first-layer-that-normalises"),
        pytest.param(1e30, 1e30, True, id="huge"),
        pytest.param(1e-30, 1e-30, False, id="tiny"),
        pytest.param(nan, 90.0, False, id="nan-inputs"),
        pytest.param(100.0, nan, False, id="nan-first-layer"),
        pytest.param(inf, inf, True, id="inf"),
    ],
)
def test_check(size: float, passed: float, expected: bool) -> None:
    made = history({"input": row(size)}, {"0": row(passed), "1": row(1.0)})
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize("count", [1.0, 4.0, 2.0**20])
def test_the_number_of_values_does_not_matter(count: float) -> None:
    assert problem.check(history({"input": row(8 * MORE, count)}, {"0": row(9, count)})) is not None
    assert problem.check(history({"input": row(8 / MORE, count)}, {"0": row(9, count)})) is None


@pytest.mark.parametrize(
    ("batch", "layers"),
    [
        pytest.param(None, {"0": row(90)}, id="no-batch"),
        pytest.param({"input": row(100)}, None, id="too-early"),
        pytest.param({"input": row(100)}, {}, id="no-layer"),
        pytest.param({"target": row(100)}, {"0": row(90)}, id="no-input"),
        pytest.param({"input": {}}, {"0": row(90)}, id="input-not-measured"),
        pytest.param({"input": {"norm": 9e9, "count": 0}}, {"0": row(90)}, id="empty-input"),
        pytest.param({"input": row(100)}, {"0": row(1), "1": row(90)}, id="a-later-layer"),
    ],
)
def test_what_says_nothing(batch: Rows | None, layers: Rows | None) -> None:
    assert problem.check(history(batch, layers)) is None


def test_only_the_input_counts() -> None:
    made = history({"output": row(1), "input": row(100), "target": row(1)}, {"0": row(90)})
    assert problem.check(made) is not None


def test_the_finding_names_the_step_the_first_layer_and_the_numbers() -> None:
    made = history({"input": row(100)}, {"stem.0": row(90), "head": row(1)})
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("unnormalised_input", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (0, 2, ("stem.0",))
    assert finding.evidence == {"size": 100.0, "passed": 90.0}
    assert finding.message == (
        "inputs are around 100 (limit 8), the first layer outputs 90 (limit 4)"
    )


def waited(size: float, losses: Sequence[float], **tables: Rows) -> History:
    """Return a history of classes with these losses, and with further tables at its last step."""
    made = History(Setup(loss="cross_entropy", labels=10), loss=losses)
    rows: dict[str, Rows] = {"batch": {"input": row(size)}, "activation": {"0": row(9)}, **tables}
    made.append(
        Vitals(
            step=len(losses) - 1,
            tables=[Table.of(kind, len(losses) - 1, each) for kind, each in rows.items()],  # type: ignore[arg-type]
        )
    )
    return made


@pytest.mark.parametrize(
    ("size", "losses", "expected"),
    [
        pytest.param(65.0, [2.3], True, id="extreme"),
        pytest.param(64.0, [2.3], False, id="not-extreme"),
        pytest.param(32.0, 20 * [2.3], False, id="too-early"),
        pytest.param(32.0, 21 * [2.3], True, id="does-not-learn"),
        pytest.param(32.0, [9.0, *20 * [2.3]], False, id="fell-far"),
        pytest.param(32.0, [7.6, *20 * [2.3]], True, id="fell-to-a-constant-answer"),
        pytest.param(32.0, [2.4, *20 * [1.84]], False, id="better-than-a-constant-answer"),
        pytest.param(32.0, [2.4, *20 * [1.85]], True, id="not-clearly-better"),
        pytest.param(32.0, [2.4, *19 * [0.1], nan], True, id="nan"),
    ],
)
def test_models_that_cope(size: float, losses: list[float], expected: bool) -> None:
    assert bool(patient.check(waited(size, losses))) is expected


def test_damage_counts_at_once() -> None:
    wild = {"a.weight": {"update_ratio": 3.1}, "b.weight": {"update_ratio": 3.1}}
    calm = {"a.weight": {"update_ratio": 0.1}, "b.weight": {"update_ratio": 0.1}}
    assert patient.check(waited(32.0, [2.3], weight=wild)) is not None
    assert patient.check(waited(32.0, [2.3], weight=calm)) is None


def test_a_nan_in_the_first_batch_is_left_to_non_finite() -> None:
    bad = {"input": {**row(99.0), "nonfinite": 1.0}}
    made = waited(99.0, [2.3], batch=bad)
    assert patient.check(made) is None
    made.append(Vitals(step=1, tables=[Table.of("batch", 1, bad)]))
    assert patient.check(made) is not None


@pytest.mark.parametrize(
    ("score", "steps", "expected"),
    [
        pytest.param(0.09, 61, True, id="constant-answers"),
        pytest.param(0.1, 61, False, id="better-answers"),
        pytest.param(0.09, 60, False, id="too-early"),
    ],
)
def test_a_loss_that_fell_to_that_of_a_constant(score: float, steps: int, expected: bool) -> None:
    made = History(
        loss=[9.0, *(steps - 1) * [1.0]], score=steps * [score], constant_score=steps * [0.0]
    )
    made.add_table("batch", {"input": row(9)}, steps - 1)
    made.add_table("activation", {"0": row(9)}, steps - 1)
    assert bool(patient.check(made)) is expected


VANISHED = {"a.weight": {"norm": 1e-9, "count": 9}, "b.weight": {"norm": 1e-6, "count": 9}}


@pytest.mark.parametrize(
    ("largest", "gradients", "expected"),
    [
        pytest.param(0.004, VANISHED, True, id="tiny-and-vanished-gradients"),
        pytest.param(0.005, VANISHED, False, id="at-the-limit"),
        pytest.param(0.0, VANISHED, False, id="zeros-are-constant"),
        pytest.param(nan, VANISHED, False, id="nan"),
        pytest.param(0.004, None, False, id="tiny-but-nothing-shows"),
    ],
)
def test_tiny_inputs(largest: float, gradients: Rows | None, expected: bool) -> None:
    made = History(loss=[1.0])
    for step in range(6):
        rows = {"input": {"absmax": largest, "norm": largest, "count": 1.0}}
        tables = [Table.of("batch", step, rows)]
        if gradients is not None:
            tables.append(Table.of("gradient", step, gradients))
        made.append(Vitals(step=step, scalars={"loss": 1.0, "grad_norm": 1e-6}, tables=tables))
    assert bool(UnnormalisedInput().check(made)) is expected
