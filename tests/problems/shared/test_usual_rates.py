"""The learning rate as a multiple of the usual one."""

from math import inf, nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems.shared.usual_rates import relative_rate
from sickbay.vitals import Setup


@pytest.mark.parametrize(
    ("optimizer", "settings", "rate", "expected"),
    [
        pytest.param("Adam", {}, 1e-3, 1.0, id="adam"),
        pytest.param("AdamW", {}, 0.1, 100.0, id="adamw"),
        pytest.param("RMSprop", {}, 1e-9, 1e-6, id="any-scale"),
        pytest.param("SGD", {}, 0.01, 1.0, id="sgd"),
        pytest.param("SGD", {"momentum": 0.9}, 0.01, 10.0, id="momentum"),
        pytest.param("SGD", {"momentum": 1.0}, 0.01, 1000.0, id="endless-momentum"),
        pytest.param("Adam", {"momentum": 0.9}, 1e-3, 1.0, id="adaptive-so-momentum-is-none"),
        pytest.param("SGD", {}, 0.0, 0.0, id="zero"),
        pytest.param("SGD", {}, nan, nan, id="nan"),
        pytest.param("SGD", {}, inf, inf, id="inf"),
        pytest.param("LBFGS", {}, 1.0, nan, id="lbfgs"),
        pytest.param("Adadelta", {}, 1.0, nan, id="adadelta"),
        pytest.param("Adagrad", {}, 0.05, 5.0, id="adagrad"),
        pytest.param("Lion", {}, 1e-4, 1.0, id="lion"),
        pytest.param("Prodigy", {}, 1.0, nan, id="prodigy"),
        pytest.param("Adam, SGD", {}, 0.01, nan, id="two-optimizers"),
        pytest.param("", {}, 0.01, nan, id="not-known"),
    ],
)
def test_relative_rate(
    optimizer: str, settings: dict[str, Any], rate: float, expected: float
) -> None:
    made = History(Setup(optimizer=optimizer, settings=settings), lr=[5.0, rate])
    assert relative_rate(made) == pytest.approx(expected, nan_ok=True)


def test_without_a_rate_it_is_not_known() -> None:
    assert relative_rate(History(Setup(optimizer="Adam"))) == pytest.approx(nan, nan_ok=True)
