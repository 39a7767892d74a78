from collections.abc import Sequence
from math import inf, nan

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


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK] * 2, True, id="tiny-steps"),
        pytest.param([[CERTAIN]] * 2, False, id="at-the-limit"),
        pytest.param([[CERTAIN / 1.01]] * 2, True, id="below-the-limit"),
        pytest.param([[0.0, 1e-9, 1.0]] * 2, True, id="median"),
        pytest.param([[0.0, 1e-3, 1.0]] * 2, False, id="median-above-the-limit"),
        pytest.param([SICK], False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], True, id="forgets-what-left-the-window"),
        pytest.param([[0.0, 0.0]] * 2, False, id="nothing-changes-at-all"),
        pytest.param([[nan, 1e-9]] * 2, True, id="nan-beside"),
        pytest.param([[nan, nan]] * 2, False, id="nan"),
        pytest.param([[inf]] * 2, False, id="inf"),
        pytest.param([[]] * 2, False, id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: bool) -> None:
    assert bool(problem.check(history(readings))) is expected


@pytest.mark.parametrize(
    ("ratio", "steps", "expected"),
    [
        pytest.param(RATIO, 21, False, id="at-the-limit"),
        pytest.param(RATIO / 1.01, 21, True, id="below-the-limit"),
        pytest.param(RATIO / 1.01, 20, False, id="too-early"),
        pytest.param(CERTAIN / 1.01, 20, True, id="certain"),
    ],
)
def test_more_counts_later(ratio: float, steps: int, expected: bool) -> None:
    made = history([[ratio]] * 2, loss=[1.0] * steps)
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("lr", "expected"),
    [
        pytest.param([], True, id="not-known"),
        pytest.param([0.1, 0.1], True, id="constant"),
        pytest.param([0.1, 0.01], True, id="falling"),
        pytest.param([0.01, 0.011], False, id="rising"),
        pytest.param([0.01, 0.1, 0.1, 0.01], True, id="was-rising"),
        pytest.param([0.01, *[0.1] * 20], True, id="rose-long-ago"),
        pytest.param([0.01, *[0.1] * 19], False, id="rose-lately"),
    ],
)
def test_a_warm_up_is_left_alone(lr: list[float], expected: bool) -> None:
    assert bool(problem.check(history([SICK] * 2, lr=lr))) is expected


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        pytest.param([1.0, *[0.75] * 10], [], True, id="loss-at-the-limit"),
        pytest.param([1.0, *[0.74] * 10], [], False, id="loss-below-the-limit"),
        pytest.param([2.0**40, *[2.0**40] * 10], [], True, id="any-scale"),
        pytest.param([1.0], [0.7], True, id="accuracy-at-the-limit"),
        pytest.param([1.0], [0.71], False, id="accuracy-above-the-limit"),
        pytest.param([nan], [], True, id="loss-nan"),
        pytest.param([], [], True, id="no-loss"),
    ],
)
def test_only_while_it_learns_badly(
    loss: list[float], accuracy: list[float], expected: bool
) -> None:
    assert bool(problem.check(history([SICK] * 2, loss=loss, accuracy=accuracy))) is expected


def test_biases_and_embeddings_are_left_out() -> None:
    shapes = {"a.weight": (4,), "b.weight": (9, 4), "c.weight": (4, 4), "d.weight": (4, 4)}
    setup = Setup(shapes=shapes, layers={"b": "Embedding"})
    assert problem.check(history([[1e-9, 1e-9, 0.1, 0.1]] * 2, setup=setup)) is None
    assert problem.check(history([[0.1, 0.1, 1e-9, 1e-9]] * 2, setup=setup)) is not None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = history([[3e-8], [2e-8]], lr=[1e-6, 1e-7])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("learning_rate_too_low", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (1, 2, ())
    assert finding.evidence == {"ratio": 3e-8, "relative": pytest.approx(nan, nan_ok=True)}
    assert finding.message == (
        "a step changes the weights by 3e-08 of their size (limit 9.53674e-07), learning rate 1e-07"
    )
    finding = problem.check(history([[1e-5]] * 2, loss=[1.0] * 30))
    assert finding is not None
    assert finding.message == (
        "a step changes the weights by 1e-05 of their size (limit 0.000244141)"
    )


@pytest.mark.parametrize(("norm", "found"), [(0.5, True), (0.0, False)])
def test_weights_that_do_not_move_at_all(norm: float, found: bool) -> None:
    """A rate of 0, or one whose steps are lost to rounding; without a gradient there is none."""
    history = History(loss=[2.3] * 4, grad_norm=[norm] * 4, lr=[1e-12] * 4)
    for step in range(4):
        rows = {"a.weight": {"update_ratio": 0.0}, "b.weight": {"update_ratio": 0.0}}
        history.append(Vitals(step=step, tables=[Table.of("weight", step, rows)]))
    assert (LearningRateTooLow(samples=1).check(history) is not None) == found


@pytest.mark.parametrize(
    ("lr", "loss", "expected"),
    [
        pytest.param([0.1, 0.04], [1.0, 0.7], False, id="lowered-after-learning"),
        pytest.param([0.1, 0.06], [1.0, 0.7], True, id="not-lowered-by-half"),
        pytest.param([0.1, 0.04], [1.0, 0.9], True, id="lowered-before-learning"),
    ],
)
def test_a_rate_that_a_schedule_has_lowered(
    lr: list[float], loss: list[float], expected: bool
) -> None:
    made = history([SICK] * 2, lr=lr, loss=[loss[0]] + [loss[1]] * 30, accuracy=[0.5])
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("optimizer", "rate", "relative", "alone"),
    [
        pytest.param("Adam", 2e-5, 0.02, True, id="at-the-limit"),
        pytest.param("Adam", 3e-5, 0.03, False, id="above-the-limit"),
        pytest.param("Adam", 1e-12, 1e-9, True, id="any-scale"),
        pytest.param("SGD", 1e-4, 0.01, True, id="sgd"),
        pytest.param("SGD", 1e-3, 0.1, False, id="lower-than-usual"),
        pytest.param("Adadelta", 1e-9, nan, False, id="means-something-else"),
        pytest.param("", 1e-9, nan, False, id="optimizer-not-known"),
    ],
)
def test_far_below_the_usual_rate_it_is_a_cause_of_its_own(
    optimizer: str, rate: float, relative: float, alone: bool
) -> None:
    rule = LearningRateTooLow(checks=2, unusual=0.02 * (1 + 1e-9))  # the rate is rounded
    finding = rule.check(history([SICK] * 2, lr=[rate] * 2, setup=Setup(optimizer=optimizer)))
    assert finding is not None
    assert finding.evidence["relative"] == pytest.approx(relative, nan_ok=True)
    assert rule.stands_alone(finding) is alone


@pytest.mark.parametrize(
    ("rates", "score", "steps", "expected"),
    [
        pytest.param([1e-5], 0.6, 40, True, id="little-is-learnt"),
        pytest.param([1e-5], 0.625, 40, False, id="at-the-limit-of-the-gain"),
        pytest.param([1e-5], 0.6, 30, False, id="too-early"),
        pytest.param([2.0**-15], 0.6, 40, False, id="not-so-low"),
        pytest.param([1e-3, 1e-5], 0.6, 40, False, id="lowered-by-a-schedule"),
        pytest.param([1e-6, 1e-5], 0.6, 40, False, id="warm-up"),
        pytest.param([1e-5], nan, 40, False, id="score-nan"),
    ],
)
def test_a_rate_far_below_the_usual_one_at_which_little_is_learnt(
    rates: list[float], score: float, steps: int, expected: bool
) -> None:
    lr = [rates[0]] * (steps // 2) + [rates[-1]] * (steps - steps // 2)
    scores, constant = steps * [score], steps * [0.5]
    made = History(Setup(optimizer="Adam"), lr=lr, score=scores, constant_score=constant)
    rule = LearningRateTooLow(patience=32)
    finding = rule.check(made)
    assert bool(finding) is expected
    assert finding is None or rule.stands_alone(finding)


@pytest.mark.parametrize(
    ("rate", "score", "ended", "expected"),
    [
        pytest.param(1e-4, 0.6, True, True, id="a-tenth"),
        pytest.param(1e-4, 0.6, False, False, id="not-over"),
        pytest.param(2e-4, 0.6, True, False, id="above-the-limit"),
        pytest.param(1e-4, 0.63, True, False, id="learns"),
    ],
)
def test_a_rate_below_the_usual_one_is_told_at_the_end(
    rate: float, score: float, ended: bool, expected: bool
) -> None:
    scores, constant = 40 * [score], 40 * [0.5]
    made = History(Setup(optimizer="Adam"), lr=40 * [rate], score=scores, constant_score=constant)
    made.ended = ended
    rule = LearningRateTooLow(patience=32, reached=0.25, slow=0.15)
    finding = rule.check(made)
    assert bool(finding) is expected
    assert finding is None or (finding.severity == "info" and rule.stands_alone(finding))


@pytest.mark.parametrize(
    ("optimizer", "layer", "rate", "severity"),
    [
        pytest.param("AdamW", "LayerNorm", 1e-5, "info", id="fine-tuning"),
        pytest.param("AdamW", "LayerNorm", 1e-6, "warning", id="lower-than-that"),
        pytest.param("Adam", "LayerNorm", 1e-5, "warning", id="another-optimizer"),
        pytest.param("AdamW", "Linear", 1e-5, "warning", id="no-transformer"),
    ],
)
def test_transformers_are_fine_tuned_at_low_rates(
    optimizer: str, layer: str, rate: float, severity: str
) -> None:
    setup, scores = Setup(optimizer=optimizer, layers={"norm": layer}), 40 * [0.55]
    made = History(setup, lr=40 * [rate], score=scores, constant_score=40 * [0.5])
    rule = LearningRateTooLow(patience=32)
    assert severity == "info" or rule.check(made)
    made.ended = True
    finding = rule.check(made)
    assert finding is not None
    assert finding.severity == severity
