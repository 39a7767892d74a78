"""Schedules that spend the rate before the model has learnt."""

from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import LearningRateTooLow
from sickbay.vitals import Setup, Table, Vitals

CERTAIN, RATIO = 2.0**-20, 2.0**-12
SICK, HEALTHY = [2.0**-30, 2.0**-25], [1e-3, 2e-3]
problem = LearningRateTooLow(
    certain=CERTAIN, ratio=RATIO, after=20, checks=2, loss_drop=0.25, accuracy=0.7
)


def history(
    readings: Sequence[Sequence[float]],
    *,
    loss: Sequence[float] = (1.0, 1.0),
    accuracy: Sequence[float] = (),
    lr: Sequence[float] = (),
    setup: Setup | None = None,
) -> History:
    made = History(setup, loss=loss, accuracy=accuracy, lr=lr)
    for step, ratios in enumerate(readings):
        rows = {
            f"{name}.weight": {"update_ratio": ratio}
            for name, ratio in zip("abcd", ratios, strict=False)
        }
        made.append(Vitals(step=step, tables=[Table.of("weight", step, rows)]))
    return made


FALLEN = [1.0, 0.1, 0.001, *5 * [0.0001]]


def scheduled(rates: list[float], score: float = 0.7) -> History:
    """Return a run of epochs of four steps with these rates."""
    made = History(Setup(optimizer="Adam"))
    for epoch, rate in enumerate(rates):
        for step in range(4 * epoch, 4 * epoch + 4):
            scalars = {"lr": rate, "score": score, "constant_score": 0.5}
            made.append(Vitals(step, epoch, scalars=scalars))
        made.end_epoch()
    return made


@pytest.mark.parametrize(
    ("rates", "score", "expected"),
    [
        pytest.param(FALLEN, 0.7, True, id="soon-almost-nothing"),
        pytest.param([1e-9 * each for each in FALLEN], 0.7, True, id="any-scale"),
        pytest.param([1.0, 0.1, *6 * [0.01]], 0.7, False, id="at-the-limit"),
        pytest.param([1.0, 0.1, *4 * [0.001]], 0.7, True, id="a-third-of-the-run"),
        pytest.param([1.0, 0.1, *3 * [0.001]], 0.7, False, id="more-than-a-third"),
        pytest.param([1.0, 0.5, 0.1, *7 * [0.001]], 0.7, True, id="early"),
        pytest.param([1.0, 0.5, 0.2, 0.1, *10 * [0.001]], 0.7, False, id="not-so-early"),
        pytest.param([1.0, 0.1, 0.1, *7 * [0.001]], 0.7, False, id="rests-on-a-plateau"),
        pytest.param([0.1, 1.0, *7 * [0.001]], 0.7, False, id="warm-up"),
        pytest.param([*FALLEN, 1.0], 0.7, False, id="restarts"),
        pytest.param([1.0, 0.1, *7 * [0.0]], 0.7, True, id="zero"),
        pytest.param([1.0] * 9, 0.7, False, id="constant"),
        pytest.param([], 0.7, False, id="no-epoch"),
        pytest.param(FALLEN, 0.74, True, id="little-is-learnt"),
        pytest.param(FALLEN, 0.75, False, id="enough-is-learnt"),
        pytest.param(FALLEN, nan, False, id="score-nan"),
    ],
)
def test_a_schedule_that_falls_early(rates: list[float], score: float, expected: bool) -> None:
    rule = LearningRateTooLow(lowered=0.01, early=3, learnt=0.5, patience=8)
    assert bool(rule.check(scheduled(rates, score))) is expected


def test_the_schedule_is_named_and_a_cause_of_its_own() -> None:
    rule = LearningRateTooLow(patience=8)
    finding = rule.check(scheduled(FALLEN, 0.625))
    assert finding is not None
    assert finding.message == (
        "a schedule took the learning rate from 1 to 0.0001, and below 0.01 of its start in 2 of 8 "
        "epochs; the model scores 0.625 on its training batches, a constant answer 0.5"
    )
    assert rule.stands_alone(finding)


@pytest.mark.parametrize(
    ("rates", "score", "severity"),
    [
        pytest.param([1.0, 0.1, *7 * [0.001]], 0.7, "warning", id="early"),
        pytest.param([1.0, 0.5, 0.2, 0.1, *2 * [0.001]], 0.7, "info", id="at-two-thirds"),
        pytest.param([1.0, 0.5, 0.2, 0.1, 0.001], 0.7, "", id="late"),
        pytest.param([1.0, 0.5, 0.2, 0.1, *2 * [0.001]], 0.75, "", id="enough-is-learnt"),
    ],
)
def test_a_schedule_that_spends_its_rate_is_told_at_the_end(
    rates: list[float], score: float, severity: str
) -> None:
    rule = LearningRateTooLow(lowered=0.01, early=3, learnt=0.5, patience=8, most=0.67)
    made = scheduled(rates, score)
    made.ended = True
    finding = rule.check(made)
    assert (finding.severity if finding else "") == severity
    assert finding is None or rule.stands_alone(finding)
