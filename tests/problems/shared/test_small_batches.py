"""How many samples are behind a reading, a loss or an accuracy."""

from math import inf, isnan, nan

import pytest

from sickbay.history import History
from sickbay.problems import DeadUnits
from sickbay.problems.shared.learns_badly import best_accuracy, loss_fall
from sickbay.problems.shared.small_batches import batch_size, pooled
from sickbay.vitals import Setup, Table, Vitals
from tests.problems.shared.few_samples import history, setup

problem = DeadUnits(samples=8)


@pytest.mark.parametrize(
    ("shape", "loss", "expected"),
    [
        pytest.param((32, 10), "cross_entropy", 32, id="batch"),
        pytest.param((1, 10), "cross_entropy", 1, id="of-one"),
        pytest.param((10,), "cross_entropy", 1, id="no-batch"),
        pytest.param((10,), "nll", 1, id="no-batch-of-logarithms"),
        pytest.param((10,), "mse", 10, id="one-value-a-sample"),
        pytest.param((4, 7, 65), "", 4, id="sequences"),
        pytest.param((), "mse", 0, id="not-known"),
    ],
)
def test_batch_size(shape: tuple[int, ...], loss: str, expected: int) -> None:
    assert batch_size(Setup(output_shape=shape, loss=loss)) == expected


@pytest.mark.parametrize(
    ("size", "expected"), [(1, 8), (2, 4), (3, 3), (7, 2), (8, 1), (64, 1), (0, 1)]
)
def test_steps_that_make_up_the_samples(size: int, expected: int) -> None:
    made = History(setup(size) if size else Setup())
    assert problem.steps(made) == expected


@pytest.mark.parametrize(
    ("size", "readings", "least", "expected"),
    [
        pytest.param(8, 5, 1, [4], id="enough-in-one"),
        pytest.param(8, 5, 3, [2, 3, 4], id="at-least"),
        pytest.param(8, 2, 3, [], id="too-few-readings"),
        pytest.param(2, 5, 1, [1, 2, 3, 4], id="several"),
        pytest.param(2, 5, 5, [0, 1, 2, 3, 4], id="several-and-at-least"),
        pytest.param(2, 3, 1, [], id="too-few-samples"),
        pytest.param(0, 5, 2, [3, 4], id="size-not-known"),
        pytest.param(8, 0, 1, [], id="no-reading"),
    ],
)
def test_readings(size: int, readings: int, least: int, expected: list[int]) -> None:
    made = history(size, "activation", [{}] * readings)
    made.setup = setup(size) if size else Setup()
    assert [each.step for each in problem.readings(made, "activation", least)] == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param([24, 24, 24], [2], id="whole-batches"),
        pytest.param([24, 24, 3], [1, 2], id="the-last-is-small"),
        pytest.param([24, 3, 3], [0, 1, 2], id="two-are-small"),
        pytest.param([240, *[1] * 8], [1, 2, 3, 4, 5, 6, 7, 8], id="one-sample-at-least"),
        pytest.param([24, 24, nan], [2], id="not-measured"),
        pytest.param([24, 24, inf], [2], id="inf"),
        pytest.param([0, 0, 0], [2], id="nothing"),
    ],
)
def test_a_batch_may_be_smaller_than_the_others(counts: list[float], expected: list[int]) -> None:
    made = History(setup(8))
    for step, count in enumerate(counts):
        batch = Table.of("batch", step, {"output": {"count": count}})
        made.append(Vitals(step=step, tables=[batch, Table.of("activation", step, {})]))
    assert [each.step for each in problem.readings(made, "activation")] == expected


def test_pooled() -> None:
    values = [[1.0, 5.0], [9.0, -3.0]]
    tables = [
        Table.of(
            "batch",
            step,
            {
                "target": {
                    "count": 2,
                    "mean": sum(pair) / 2,
                    "variance": (pair[0] - pair[1]) ** 2 / 4,
                    "norm": (pair[0] ** 2 + pair[1] ** 2) ** 0.5,
                    "minimum": min(pair),
                    "maximum": max(pair),
                }
            },
        )
        for step, pair in enumerate(values)
    ]
    assert pooled(tables, "target") == pytest.approx(
        {"count": 4, "mean": 3, "variance": 20, "norm": 116**0.5, "minimum": -3, "maximum": 9}
    )
    assert str(pooled(tables[:1], "target")) == str(tables[0].row("target"))
    assert pooled(tables, "input") == pooled([], "target") == {}


@pytest.mark.parametrize(
    ("accuracy", "epochs", "steps", "expected"),
    [
        pytest.param([0.0, 1.0, 0.0, 0.0], [], 1, 1.0, id="the-best-batch"),
        pytest.param([0.0, 1.0, 0.0, 0.0], [], 4, 0.25, id="the-mean-of-single-samples"),
        pytest.param([0.0, 1.0, 0.0], [], 4, -inf, id="too-early"),
        pytest.param([0.0, 0.0, 0.0, 0.0], [0.6, 0.5], 4, 0.6, id="the-best-epoch"),
        pytest.param([], [], 4, -inf, id="not-given"),
    ],
)
def test_best_accuracy(
    accuracy: list[float], epochs: list[float], steps: int, expected: float
) -> None:
    made = History(accuracy=accuracy)
    for each in epochs:
        made.end_epoch(accuracy=each)
    assert best_accuracy(made, steps) == expected


def test_fall() -> None:
    made = History(loss=[0.01, 2.0, 2.0, 2.0, *[1.0] * 38, 99.0])
    assert loss_fall(made, 4) == 0.5
    assert loss_fall(made) < 0
    assert isnan(loss_fall(History(), 4))
