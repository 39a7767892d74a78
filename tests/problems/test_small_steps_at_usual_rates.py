"""Small steps at a usual rate come from small gradients, not from the rate."""

import pytest

from sickbay.history import History
from sickbay.problems import LearningRateTooLow
from sickbay.vitals import Setup, Table, Vitals


@pytest.mark.parametrize(
    ("optimizer", "rate", "expected"),
    [
        pytest.param("SGD", 5e-3, False, id="half-of-the-usual-rate"),
        pytest.param("SGD", 4e-3, True, id="less"),
        pytest.param("Adam", 1e-3, False, id="usual"),
        pytest.param("Adadelta", 1.0, True, id="means-something-else"),
    ],
)
def test_small_steps(optimizer: str, rate: float, expected: bool) -> None:
    made = History(Setup(optimizer=optimizer), loss=[1.0, 1.0], lr=[rate] * 2)
    for step in range(2):
        table = Table.of("weight", step, {"a.weight": {"update_ratio": 1e-9}})
        made.append(Vitals(step=step, tables=[table]))
    assert bool(LearningRateTooLow(checks=2).check(made)) is expected
