"""A logistic loss that is not finite where the model is certain."""

from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.vitals import Setup


@pytest.mark.parametrize(
    ("loss", "value", "output", "step", "expected"),
    [
        pytest.param("bce_logits", nan, (-1.0, 16.1), 1, True, id="a-large-logit"),
        pytest.param("bce_logits", inf, (-16.1, 1.0), 1, True, id="below-0"),
        pytest.param("bce_logits", nan, (-16.0, 16.0), 1, False, id="at-the-limit"),
        pytest.param("bce_logits", 0.3, (-1.0, 16.1), 1, False, id="finite"),
        pytest.param("bce_logits", nan, (-1.0, 16.1), 0, False, id="read-before"),
        pytest.param("bce", nan, (0.0, 0.9), 1, True, id="a-certain-no"),
        pytest.param("bce", nan, (0.1, 1.0), 1, True, id="a-certain-yes"),
        pytest.param("bce", nan, (0.1, 0.9), 1, False, id="nothing-is-certain"),
        pytest.param("bce", nan, (0.0, 1.1), 1, False, id="not-probabilities"),
        pytest.param("cross_entropy", nan, (-1.0, 16.1), 1, False, id="all-labels-ignored"),
    ],
)
def test_a_logistic_loss_that_is_not_torchs(
    loss: str, value: float, output: tuple[float, float], step: int, expected: bool
) -> None:
    low, high = output
    for nonfinite in (0.0, 1.0):
        made = History(Setup(loss=loss), loss=[0.5, value])
        rows = {"output": {"minimum": low, "maximum": high, "nonfinite": nonfinite}}
        made.add_table("batch", rows, step)
        assert bool(ImproperLoss().check(made)) is (expected and not nonfinite)
