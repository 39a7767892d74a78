from collections.abc import Sequence
from math import inf, nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import BatchTooSmall
from sickbay.vitals import Setup

problem = BatchTooSmall(samples=2, momentum=0.75, after=100)
RISEN = 100 * [1.0] + 100 * [1.5]


def history(
    loss: Sequence[float], size: int = 2, settings: dict[str, Any] | None = None
) -> History:
    settings = {"momentum": 0.75} if settings is None else settings
    return History(Setup(output_shape=(size, 3), settings=settings), loss=loss)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param(RISEN, True, id="rose"),
        pytest.param(200 * [1.0], False, id="at-the-limit"),
        pytest.param(100 * [1.0] + 100 * [1.01], True, id="above-the-limit"),
        pytest.param([1e-30 * each for each in RISEN], True, id="any-scale-small"),
        pytest.param([1e30 * each for each in RISEN], True, id="any-scale-large"),
        pytest.param(101 * [1.5], False, id="flat"),
        pytest.param(32 * [1.0] + 69 * [1.5], True, id="just-in-time"),
        pytest.param(32 * [1.0] + 68 * [1.5], False, id="too-early"),
        pytest.param(100 * [1.0] + 49 * [1e9] + 51 * [0.5], False, id="a-median"),
        pytest.param(100 * [1.0] + [nan], True, id="nan-now"),
        pytest.param(100 * [1.0] + [inf], True, id="inf-now"),
        pytest.param(150 * [1.0] + [nan] + 48 * [0.5] + [9.0], False, id="one-nan-lately"),
        pytest.param(200 * [nan], False, id="nan-from-the-start"),
        pytest.param([0.5, 1.5] * 50 + [0.55, 1.65] * 50, False, id="by-chance"),
        pytest.param([0.5, 1.5] * 50 + [0.55, 1.65] * 250, True, id="not-lower-at-last"),
        pytest.param([], False, id="no-loss"),
    ],
)
def test_check(loss: list[float], expected: bool) -> None:
    assert bool(problem.check(history(loss))) is expected


@pytest.mark.parametrize(
    ("size", "settings", "expected"),
    [
        pytest.param(2, {"momentum": 0.75}, True, id="at-the-limit"),
        pytest.param(3, {"momentum": 0.9}, False, id="larger-batches"),
        pytest.param(1, {"momentum": 0.74}, False, id="less-momentum"),
        pytest.param(1, {}, False, id="no-momentum"),
        pytest.param(0, {"momentum": 0.9}, False, id="empty-batches"),
    ],
)
def test_only_tiny_batches_with_momentum(
    size: int, settings: dict[str, Any], expected: bool
) -> None:
    assert bool(problem.check(history(RISEN, size, settings))) is expected


def test_a_batch_of_unknown_size_is_left_alone() -> None:
    setup = Setup(settings={"momentum": 0.9})
    assert problem.check(History(setup, loss=RISEN)) is None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    finding = problem.check(history(RISEN))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("batch_too_small", "warning")
    assert (finding.step, finding.layers) == (199, ())
    assert finding.evidence == {"loss": 1.5, "first": 1.0}
    assert finding.message == ("batches of 2 with a momentum of 0.75: the loss is 1.5, initially 1")


@pytest.mark.parametrize(
    ("late", "ended", "expected"),
    [
        pytest.param([0.5, 0.25, 0.5, 0.25], True, True, id="up-and-down"),
        pytest.param([0.5, 0.4, 0.3, 0.2], True, False, id="falls"),
        pytest.param([0.5, 0.25, 0.5, 0.25], False, False, id="not-over"),
        pytest.param([0.02, 0.01, 0.02, 0.01], True, False, id="hardly-any-loss-left"),
    ],
)
def test_a_lower_loss_that_goes_up_and_down_is_told_at_the_end(
    late: list[float], ended: bool, expected: bool
) -> None:
    made = history(100 * [1.0] + 100 * [0.5])
    for loss in [1.0, 1.0, 1.0, 1.0, *late]:
        made.end_epoch(loss=loss)
    made.ended = ended
    finding = problem.check(made)
    assert bool(finding) is expected
    assert finding is None or finding.severity == "info"
