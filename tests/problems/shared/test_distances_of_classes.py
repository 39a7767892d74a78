"""A distance as the loss of a classifier, at the end of a run."""

from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.vitals import Setup

ONE_HOT: dict[str, Any] = {
    "loss": "mse", "task": "multiclass", "output_shape": (8, 5), "target_shape": (8, 5),
}  # fmt: skip
SOFTMAX: dict[str, Any] = {
    "loss": "mse", "output": "softmax", "output_shape": (8, 5), "bare": True,
}  # fmt: skip


def run(
    setup: dict[str, Any], *, score: float = 0.5, loss: float = 1.0, steps: int = 70
) -> History:
    made = History(
        Setup(**setup), loss=steps * [loss], score=steps * [score], constant_score=steps * [0.2]
    )
    made.ended = True
    return made


@pytest.mark.parametrize(
    ("changed", "score", "steps", "expected"),
    [
        pytest.param({}, 0.5, 70, True, id="half-solved"),
        pytest.param({}, 0.91, 70, True, id="below-the-limit"),
        pytest.param({}, 0.93, 70, False, id="solved"),
        pytest.param({}, 0.5, 69, False, id="a-short-run"),
        pytest.param({"loss": "huber"}, 0.5, 70, True, id="another-distance"),
        pytest.param({"loss": "cross_entropy"}, 0.5, 70, False, id="cross-entropy"),
        pytest.param({"task": "regression"}, 0.5, 70, False, id="numbers"),
        pytest.param({"task": "multilabel"}, 0.5, 70, False, id="tags"),
        pytest.param({"target_shape": (8,)}, 0.5, 70, False, id="class-numbers"),
        pytest.param({"task": "binary", "output": "sigmoid"}, 0.5, 70, True, id="yes-or-no"),
        pytest.param({"task": "binary", "output": "linear"}, 0.5, 70, False, id="two-numbers"),
    ],
)
def test_where_answers_are_known(
    changed: dict[str, Any], score: float, steps: int, expected: bool
) -> None:
    finding = ImproperLoss().check(run({**ONE_HOT, **changed}, score=score, steps=steps))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.severity == "info"
        assert ImproperLoss().stands_alone(finding)


@pytest.mark.parametrize(
    ("changed", "loss", "expected"),
    [
        pytest.param({}, 0.16, True, id="even-odds"),
        pytest.param({}, 0.041, True, id="above-the-limit"),
        pytest.param({}, 0.04, False, id="at-the-limit"),
        pytest.param({}, float("nan"), False, id="nan"),
        pytest.param({"output": "linear"}, 0.16, False, id="numbers"),
        pytest.param({"bare": False}, 0.16, False, id="with-other-terms"),
        pytest.param({"summed": True}, 0.16, False, id="a-sum"),
        pytest.param({"loss": "l1"}, 0.16, False, id="another-distance"),
        pytest.param({"output_shape": (8, 1)}, 0.16, False, id="one-unit"),
        pytest.param({"output_shape": (8, 4, 5)}, 0.16, False, id="sequences"),
    ],
)
def test_where_only_the_loss_is_known(changed: dict[str, Any], loss: float, expected: bool) -> None:
    assert bool(ImproperLoss().check(run({**SOFTMAX, **changed}, loss=loss))) is expected


@pytest.mark.parametrize("setup", [ONE_HOT, SOFTMAX])
def test_it_is_a_remark_at_the_end(setup: dict[str, Any]) -> None:
    made = run(setup)
    made.ended = False
    assert ImproperLoss().check(made) is None


def test_what_is_surely_wrong_is_no_remark() -> None:
    finding = ImproperLoss().check(run({**ONE_HOT, "loss": "l1"}))
    assert finding is not None
    assert finding.severity == "critical"
    assert not ImproperLoss().stands_alone(finding)
