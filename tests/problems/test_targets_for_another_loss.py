"""Targets that a loss was not made for."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.vitals import Setup, Table, Vitals

problem = ImproperLoss()


def history(target: Mapping[str, float], accuracy: Sequence[float] = (), **setup: Any) -> History:
    made = History(Setup(**setup), loss=[1.0], accuracy=accuracy)
    rows = {"output": {"minimum": 0.0}, **({"target": target} if target else {})}
    made.append(Vitals(step=0, tables=[Table.of("batch", 0, rows)]))
    return made


def ends(low: float, high: float) -> dict[str, float]:
    return {"minimum": low, "maximum": high}


@pytest.mark.parametrize("loss", ["soft_margin", "hinge_embedding", "hinge"])
@pytest.mark.parametrize(
    ("target", "labels", "expected"),
    [
        pytest.param(ends(-1, 1), 2, False, id="minus-one-and-one"),
        pytest.param(ends(0, 1), 2, True, id="zero-and-one"),
        pytest.param(ends(1, 1), 1, False, id="a-batch-of-one-kind"),
        pytest.param(ends(0, 0), 1, True, id="a-batch-of-zeros"),
        pytest.param(ends(-1, 1), 3, True, id="zero-too"),
        pytest.param(ends(-1, 1), 0, True, id="numbers"),
        pytest.param(ends(-2, 1), 2, True, id="below"),
        pytest.param(ends(-1, 2), 2, True, id="above"),
        pytest.param(ends(nan, nan), 2, False, id="nan"),
        pytest.param({}, 0, False, id="not-known"),
    ],
)
def test_losses_that_need_minus_one(
    loss: str, target: dict[str, float], labels: int, expected: bool
) -> None:
    finding = problem.check(history(target, loss=loss, labels=labels))
    assert bool(finding) is expected
    if finding is not None:
        low, high = target["minimum"], target["maximum"]
        needed = f"{loss} needs labels -1 and 1"
        assert finding.message == f"{needed}, but targets range from {low} to {high}"


def test_other_losses_need_no_minus_one() -> None:
    assert problem.check(history(ends(0, 1), loss="bce", labels=2)) is None


@pytest.mark.parametrize(
    ("low", "task", "expected"),
    [
        pytest.param(0.0, "regression", False, id="counts"),
        pytest.param(-1e-4, "regression", False, id="rounded"),
        pytest.param(-0.5, "regression", True, id="negative"),
        pytest.param(0.0, "binary", False, id="rare-counts"),
        pytest.param(nan, "regression", False, id="nan"),
    ],
)
def test_poisson_needs_counts(low: float, task: str, expected: bool) -> None:
    finding = problem.check(history(ends(low, 40), loss="poisson_nll", task=task))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.message == f"poisson_nll needs counts, but targets range from {low:g} to 40"


def test_signed_losses_before_the_first_batch() -> None:
    assert problem.check(History(Setup(loss="soft_margin", labels=2), loss=[1.0])) is None


HUNDRED = {"minimum": 0.0, "maximum": 99.0, "variance": 833.0}
MORE = {"minimum": 0.0, "maximum": 100.0, "variance": 850.0}
DIGITS = {"minimum": 0.0, "maximum": 9.0, "variance": 8.25}  # all as frequent


@pytest.mark.parametrize(
    ("loss", "task", "target", "labels", "accuracy", "expected"),
    [
        pytest.param("mse", "regression", DIGITS, 10, [], True, id="digits"),
        pytest.param("l1", "regression", DIGITS, 10, [], True, id="l1"),
        pytest.param("huber", "regression", DIGITS, 10, [], True, id="huber"),
        pytest.param("smooth_l1", "regression", DIGITS, 10, [], True, id="smooth-l1"),
        pytest.param("poisson_nll", "regression", DIGITS, 10, [], True, id="poisson"),
        pytest.param("bce", "regression", DIGITS, 10, [], False, id="another-loss"),
        pytest.param("mse", "multiclass", DIGITS, 10, [], False, id="another-task"),
        pytest.param("mse", "regression", DIGITS, 0, [], False, id="not-whole"),
        pytest.param(
            "mse", "regression", {**DIGITS, "minimum": 1.0}, 10, [], False, id="grades-start-at-one"
        ),
        pytest.param(
            "mse", "regression", {**DIGITS, "variance": 2.0}, 10, [], False, id="small-ones-prevail"
        ),
        pytest.param(
            "mse", "regression", {**DIGITS, "variance": 2.0}, 10, [0.1], True, id="but-an-accuracy"
        ),
        pytest.param("mse", "regression", {**DIGITS, "variance": 5.9}, 10, [], True, id="even"),
        pytest.param("mse", "regression", {**DIGITS, "variance": 5.7}, 10, [], False, id="uneven"),
        pytest.param(
            "mse", "regression", {**DIGITS, "mean": 3.2}, 10, [], True, id="in-the-middle"
        ),
        pytest.param("mse", "regression", {**DIGITS, "mean": 3.1}, 10, [], False, id="counts"),
        pytest.param("mse", "regression", {**DIGITS, "mean": 5.9}, 10, [], False, id="from-above"),
        pytest.param("mse", "regression", {**DIGITS, "mean": nan}, 10, [], True, id="no-mean"),
        pytest.param("mse", "regression", ends(0, 2), 3, [0.1], True, id="three-labels"),
        pytest.param("mse", "regression", DIGITS, 8, [], True, id="with-few-gaps"),
        pytest.param("mse", "regression", DIGITS, 7, [], False, id="with-gaps"),
        pytest.param("mse", "regression", DIGITS, 11, [], False, id="higher-in-other-batches"),
        pytest.param("mse", "regression", HUNDRED, 100, [], False, id="hundred"),
        pytest.param("mse", "regression", HUNDRED, 100, [0.1], True, id="hundred-and-an-accuracy"),
        pytest.param("mse", "regression", MORE, 101, [0.1], False, id="too-many"),
        pytest.param("mse", "regression", ends(0, 1), 2, [0.1], False, id="two-labels"),
        pytest.param("mse", "regression", {**DIGITS, "maximum": nan}, 10, [0.1], False, id="nan"),
        pytest.param("mse", "regression", {}, 10, [0.1], False, id="no-targets"),
    ],
)
def test_class_numbers_for_quantities(
    loss: str,
    task: str,
    target: dict[str, float],
    labels: int,
    accuracy: list[float],
    expected: bool,
) -> None:
    finding = problem.check(history(target, accuracy, loss=loss, task=task, labels=labels))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.message == f"{loss} treats the numbers of {labels} classes as quantities"
