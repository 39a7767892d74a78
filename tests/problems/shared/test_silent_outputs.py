"""A last ReLU that holds outputs at 0."""

from collections.abc import Sequence

import pytest

from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import ImproperOutput
from sickbay.vitals import Setup


def found(
    zeros: Sequence[float],
    wanted: float = 0.0,
    *,
    score: float = 0.0,
    steps: int = 201,
    output: str = "relu",
) -> Finding | None:
    setup = Setup(output=output, loss="mse", task="regression", output_shape=(32, 1))
    made = History(setup, score=steps * [score], constant_score=steps * [0.0])
    for step, share in enumerate(zeros, steps - len(zeros)):
        target = {"zeros": wanted, "minimum": 0.0, "maximum": 9.0, "variance": 1.0}
        made.add_table("batch", {"output": {"zeros": share}, "target": target}, step)
    return ImproperOutput().check(made)


@pytest.mark.parametrize(
    ("zeros", "wanted", "expected"),
    [
        pytest.param([1.0] * 3, 0.0, True, id="all"),
        pytest.param([1.0] * 2, 0.0, False, id="too-few-readings"),
        pytest.param([1.0, 0.99, 1.0], 0.0, False, id="not-always-all"),
        pytest.param([1.0] * 3, 0.5, False, id="half-of-the-targets-are-0"),
        pytest.param([1.0] * 3, 0.49, True, id="fewer-are"),
    ],
)
def test_a_model_that_has_stopped(zeros: list[float], wanted: float, expected: bool) -> None:
    assert bool(found(zeros, wanted, steps=3, score=0.9)) is expected


@pytest.mark.parametrize(
    ("share", "wanted", "score", "steps", "expected"),
    [
        pytest.param(0.51, 0.0, 0.49, 201, True, id="many"),
        pytest.param(0.5, 0.0, 0.49, 201, False, id="share-at-the-limit"),
        pytest.param(0.51, 0.02, 0.49, 201, False, id="targets-are-0-too"),
        pytest.param(0.51, 0.0, 0.5, 201, False, id="it-learns"),
        pytest.param(0.51, 0.0, 0.49, 200, False, id="too-early"),
    ],
)
def test_many_outputs(
    share: float, wanted: float, score: float, steps: int, expected: bool
) -> None:
    assert bool(found([share] * 3, wanted, score=score, steps=steps)) is expected


@pytest.mark.parametrize("output", ["linear", "softplus", "leaky_relu", ""])
def test_other_outputs(output: str) -> None:
    assert found([1.0] * 3, output=output) is None


def test_it_is_reported_beside_targets_that_are_not_scaled() -> None:
    finding = found([1.0] * 3)
    assert finding is not None
    assert finding.message == "relu holds 100 % of the outputs at 0, where they get no gradient"
    assert ImproperOutput().stands_alone(finding)
    assert not ImproperOutput().stands_alone(Finding(problem="improper_output", step=0))
