"""Learning rates far above the usual one."""

from dataclasses import replace
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import LearningRateTooHigh
from sickbay.vitals import Setup, Table, Vitals


def unusual(
    rate: float, score: float = 0.5, *, steps: int = 60, optimizer: str = "Adam", **settings: float
) -> History:
    """Return a run at this rate, where a constant answer scores 0.5."""
    setup = Setup(optimizer=optimizer, settings=settings)
    scored, constant = steps * [score], steps * [0.5]
    return History(setup, lr=steps * [rate], score=scored, constant_score=constant)


@pytest.mark.parametrize(
    ("rate", "score", "steps", "expected"),
    [
        pytest.param(0.1, 0.5, 60, True, id="a-hundred-times-as-high"),
        pytest.param(0.016, 0.5, 60, False, id="at-the-limit"),
        pytest.param(0.0161, 0.5, 60, True, id="above-the-limit"),
        pytest.param(1e9, 0.5, 60, True, id="any-scale"),
        pytest.param(0.1, 0.75, 60, False, id="gain-at-the-limit"),
        pytest.param(0.1, 0.74, 60, True, id="gain-below-the-limit"),
        pytest.param(0.1, 0.5, 41, True, id="just-in-time"),
        pytest.param(0.1, 0.5, 40, False, id="too-early"),
        pytest.param(nan, 0.5, 60, False, id="rate-nan"),
        pytest.param(0.1, nan, 60, False, id="score-nan"),
    ],
)
def test_an_unusual_rate_at_which_little_is_learnt(
    rate: float, score: float, steps: int, expected: bool
) -> None:
    rule = LearningRateTooHigh(unusual=16, gain=0.5, after=40)
    assert bool(rule.check(unusual(rate, score, steps=steps))) is expected


@pytest.mark.parametrize(
    ("optimizer", "momentum", "expected"),
    [
        pytest.param("SGD", 0.0, False, id="usual-for-sgd"),
        pytest.param("SGD", 0.9, False, id="high-but-sgd-takes-it"),
        pytest.param("SGD", 0.99, True, id="but-not-with-such-momentum"),
        pytest.param("AdamW", 0.0, True, id="adamw"),
        pytest.param("LBFGS", 0.0, False, id="means-something-else"),
        pytest.param("", 0.0, False, id="not-known"),
    ],
)
def test_what_is_usual_depends_on_the_optimizer(
    optimizer: str, momentum: float, expected: bool
) -> None:
    made = unusual(0.1, optimizer=optimizer, momentum=momentum)
    assert bool(LearningRateTooHigh(after=40).check(made)) is expected


def test_an_unusual_rate_is_a_cause_of_its_own() -> None:
    rule = LearningRateTooHigh(gain=0.5, after=40)
    finding = rule.check(unusual(0.1, 0.625))
    assert finding is not None
    assert (finding.step, finding.evidence) == (59, {"relative": 100.0, "score": 0.625})
    assert finding.message == (
        "learning rate 0.1, 100 times as high as usual for Adam; "
        "the model scores 0.625 on its training batches, a constant answer 0.5"
    )
    assert rule.stands_alone(finding)


def test_what_a_step_does_goes_before_what_is_usual() -> None:
    made = unusual(0.1)
    made.append(Vitals(step=60, tables=[Table.of("weight", 60, {"a.weight": {"update_ratio": 9}})]))
    finding = LearningRateTooHigh().check(made)
    assert finding is not None
    assert finding.evidence == {"ratio": 9.0, "relative": 100.0}


@pytest.mark.parametrize(("rate", "alone"), [(0.1, True), (0.014, False)])
def test_a_jump_at_an_unusual_rate_is_a_cause_of_its_own(rate: float, alone: bool) -> None:
    made = unusual(rate, steps=3)
    made.append(Vitals(step=3, tables=[Table.of("weight", 3, {"a.weight": {"update_ratio": 9}})]))
    finding = LearningRateTooHigh().check(made)
    assert finding is not None
    assert LearningRateTooHigh().stands_alone(finding) is alone


@pytest.mark.parametrize(
    ("summed", "optimizer", "samples", "expected"),
    [
        pytest.param(True, "SGD", 15, True, id="a-sum"),
        pytest.param(True, "SGD", 14, False, id="at-the-limit"),
        pytest.param(False, "SGD", 15, False, id="a-mean"),
        pytest.param(True, "Adam", 1000, False, id="adam-ignores-the-scale"),
    ],
)
def test_a_sum_multiplies_the_rate(
    summed: bool, optimizer: str, samples: int, expected: bool
) -> None:
    rate = 0.01 if optimizer == "SGD" else 0.001
    made = unusual(rate, steps=60, optimizer=optimizer)
    shape = samples, 10
    made.setup = replace(made.setup, summed=summed, loss="mse", output_shape=shape)
    finding = LearningRateTooHigh(after=40).check(made)
    assert bool(finding) is expected
    if finding is not None:
        assert finding.message.startswith("learning rate 0.01 on the sum of 150 losses, 150 times")


def finished(rate: float, losses: list[float], *, ended: bool = True) -> History:
    """Return a run of Adam that learnt, with these losses by epoch."""
    made = unusual(rate, 0.99)
    made.append(Vitals(step=60, scalars={"loss": 8.0}))
    for loss in losses:
        made.end_epoch(loss=loss)
    made.ended = ended
    return made


JUMPY = [8.0, 4.0, 2.0, 1.0, 1.0, 2.0, 1.0, 0.5]  # rises once in three of the last epochs


@pytest.mark.parametrize(
    ("rate", "losses", "ended", "expected"),
    [
        pytest.param(0.1, JUMPY, True, True, id="rises-at-the-limit"),
        pytest.param(0.1, [8.0, *JUMPY, 0.5], True, False, id="rises-below-the-limit"),
        pytest.param(0.1, sorted(JUMPY, reverse=True), True, False, id="falls"),
        pytest.param(0.1, JUMPY, False, False, id="not-over"),
        pytest.param(0.014, JUMPY, True, False, id="usual-rate"),
        pytest.param(0.1, [0.1 * each for each in JUMPY], True, False, id="hardly-any-loss-left"),
        pytest.param(0.1, [*JUMPY[:-1], nan], True, False, id="nan"),
        pytest.param(0.1, [], True, False, id="one-loss"),
    ],
)
def test_an_unusual_rate_at_which_the_loss_goes_up_and_down(
    rate: float, losses: list[float], ended: bool, expected: bool
) -> None:
    rule = LearningRateTooHigh(unusual=16)
    finding = rule.check(finished(rate, losses, ended=ended))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.severity == "info"
        assert rule.stands_alone(finding)
        assert finding.message == (
            "learning rate 0.1, 100 times as high as usual for Adam; in the second half of the run "
            "the loss rose 1 times of 3, and a lower rate might get lower"
        )
