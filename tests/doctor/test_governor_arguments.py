"""What `every` and `budget` may be, and what they mean."""

from math import inf, nan
from typing import Any

import pytest

from sickbay.doctor.governor import (
    Governor,
)
from sickbay.errors import UsageError
from tests.doctor.test_governor import ALL

EVERY = (
    "every must be a whole number of steps from 1 on, 'auto', such numbers by kind, or a function"
)


def test_every_number() -> None:
    governor = Governor(3, 0.01, ALL)
    assert [step for step in range(10) if governor.due(step) == set(ALL)] == [0, 3, 6, 9]
    assert [step for step in range(10) if governor.due(step)] == [0, 3, 6, 9]
    governor.lap(0.01, {"gradient": 50.0, "bookkeeping": 9.0})
    assert governor.due(3) == set(ALL)
    assert governor.judging_due(99)
    assert governor.uneventful(0) == 0


def test_every_by_kind() -> None:
    governor = Governor({"gradient": 2, "activation": 3, "weight": 0}, 0.01, ALL)
    due = [governor.due(step) for step in range(5)]
    assert due == [{"gradient", "activation"}, set(), {"gradient"}, {"activation"}, {"gradient"}]
    assert Governor({"activation": 1}, 0.01, ["gradient"]).due(0) == set()


@pytest.mark.parametrize(
    "every",
    [0, -1, 1.5, "often", None, True, nan, {"gradient": -1}, {"gradient": 1.5}, {"weight": True}],
    ids=str,
)
def test_wrong_every(every: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Governor(every, 0.01, ALL)
    assert str(caught.value) == f"{EVERY}, got {every!r}."


@pytest.mark.parametrize("kind", ["gradients", "loss", "judging", 3], ids=str)
def test_every_of_an_unknown_kind(kind: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Governor({kind: 1}, 0.01, ALL)
    expected = f"{EVERY} (gradient, weight, activation, batch), got { ({kind: 1})!r}."
    assert str(caught.value) == expected


@pytest.mark.parametrize("budget", [0, -0.1, 1.01, nan, inf, "1 %", None, True], ids=str)
def test_wrong_budget(budget: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Governor("auto", budget, ALL)
    rule = "budget must be a number above 0 and at most 1"
    assert str(caught.value) == f"{rule}, got {budget!r}."
    assert Governor("auto", 1, ALL).budget == 1


def test_every_by_a_function() -> None:
    governor = Governor(lambda step: step < 2 or step == 7, 0.01, ["gradient", "weight"])
    read = [step for step in range(10) if governor.due(step) == {"gradient", "weight"}]
    assert read == [0, 1, 7]
    assert [step for step in range(10) if governor.judging_due(step)] == read


def test_a_function_is_asked_once_for_a_step() -> None:
    asked: list[int] = []

    def every(step: int) -> bool:
        asked.append(step)
        return step % 2 == 0

    governor = Governor(every, 0.01, ALL)
    found = [(bool(governor.due(step)), governor.judging_due(step)) for step in range(4)]
    assert found == [(True, True), (False, False)] * 2
    assert asked == [0, 1, 2, 3]
