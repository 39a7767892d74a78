"""What problems make of few samples."""

from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import (
    DeadUnits,
    DyingRelu,
    GradientCollapse,
    GradientSpike,
    ImproperOutput,
    LearningRateTooHigh,
    LearningRateTooLow,
    LossSpike,
    Overfitting,
    Problem,
    SaturatedActivation,
    UnchangedWeights,
    UnnormalisedInput,
    VanishingGradient,
)
from sickbay.vitals import Kind, Setup, Table, Vitals
from tests.problems.shared.few_samples import Rows, history, setup

SILENT = {"1": {"dead_units": 1.0}, "3": {}}
ACTIVE = {"1": {"dead_units": 0.5, "lasting_dead": 0.4}, "3": {}}
FLAT = {"2": {"mean": 0.0, "variance": 1.0}, "3": {}}
STEEP = {"2": {"mean": 0.0, "variance": 0.2}, "3": {}}
DYING = {"a.weight": {"zeros": 1.0, "count": 9}, "b.weight": {"zeros": 0.9, "count": 9}}
LIVING = {"a.weight": {"zeros": 0.5, "count": 9}, "b.weight": {"zeros": 0.0, "count": 9}}
FADED = {"a.weight": {"norm": 1e-9}, "b.weight": {"norm": 0.5}}
STRONG = {"a.weight": {"norm": 0.4}, "b.weight": {"norm": 0.5}}
STILL = {"a.weight": {"update_ratio": 0.0}, "b.weight": {"update_ratio": 1e-3}}
MOVING = {"a.weight": {"update_ratio": 1e-3}, "b.weight": {"update_ratio": 1e-3}}
TINY = {"a.weight": {"update_ratio": 1e-9}, "b.weight": {"update_ratio": 1e-9}}


@pytest.mark.parametrize(
    ("asked", "kind", "sick", "well", "samples"),
    [
        pytest.param(DeadUnits(), "activation", SILENT, ACTIVE, 16, id="dead_units"),
        pytest.param(
            SaturatedActivation(), "activation", FLAT, STEEP, 16, id="saturated_activation"
        ),
        pytest.param(DyingRelu(), "gradient", DYING, LIVING, 32, id="dying_relu"),
        pytest.param(VanishingGradient(), "gradient", FADED, STRONG, 16, id="vanishing_gradient"),
        pytest.param(UnchangedWeights(), "weight", STILL, MOVING, 16, id="unchanged_weights"),
        pytest.param(LearningRateTooLow(), "weight", TINY, MOVING, 16, id="learning_rate_too_low"),
    ],
)
@pytest.mark.parametrize("size", [1, 4])
def test_what_shows_in_single_samples_must_show_in_many(
    asked: Problem, kind: Kind, sick: Rows, well: Rows, samples: int, size: int
) -> None:
    needed = samples // size

    def found(*readings: Rows) -> bool:
        return asked.check(history(size, kind, readings, loss=[1.0] * 20)) is not None

    assert found(*[sick] * needed)
    assert not found(*[sick] * (needed - 1))
    assert found(well, *[sick] * needed)
    assert not found(sick, well, *[sick] * (needed - 1))


@pytest.mark.parametrize(
    ("spreads", "expected"),
    [
        pytest.param([1e-5] * 4, True, id="all-alike"),
        pytest.param([0.5, *[1e-5] * 3], False, id="not-in-one-of-four"),
        pytest.param([0.5, *[1e-5] * 4], True, id="long-ago"),
    ],
)
def test_outputs_that_are_alike_in_few_samples(spreads: list[float], expected: bool) -> None:
    made = History(setup(4), loss=[1.0] * 9, output_spread=spreads)
    for step in range(4):
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, FADED)]))
    assert bool(VanishingGradient().check(made)) is expected


def losses(size: int, *values: Sequence[float]) -> History:
    return History(setup(size), loss=[each for part in values for each in part])


QUIET = [0.0, 0.2] * 240  # in groups of 16 the mean is always 0.1


@pytest.mark.parametrize(
    ("size", "newest", "expected"),
    [
        pytest.param(1, [9.0], False, id="one-hard-sample"),
        pytest.param(1, [9.0, 0.0] * 3, False, id="some-hard-samples"),
        pytest.param(1, [9.0] * 7, False, id="not-yet-most"),
        pytest.param(1, [9.0] * 9, True, id="most-samples"),
        pytest.param(1, [9.0] * 8 + [nan], False, id="nan"),
        pytest.param(64, [9.0], True, id="a-batch"),
        pytest.param(16, [9.0], False, id="one-of-three"),
        pytest.param(16, [9.0] * 2, True, id="two-of-three"),
    ],
)
def test_loss_spike(size: int, newest: list[float], expected: bool) -> None:
    made = losses(size, [1.0] * 16, QUIET, newest)
    assert bool(LossSpike().check(made)) is expected


def test_loss_spike_says_what_it_has_compared() -> None:
    finding = LossSpike().check(losses(1, [1.0] * 16, QUIET, [9.0] * 16))
    assert finding is not None
    assert finding.message == "loss 9, between 0.1 and 0.1 in the 480 steps before"


def test_loss_spike_with_a_window_that_no_history_holds() -> None:
    assert LossSpike(window=600).check(losses(1, QUIET, [9.0])) is None


@pytest.mark.parametrize(
    ("size", "newest", "spike", "collapse"),
    [
        pytest.param(1, [90.0], False, False, id="one-large"),
        pytest.param(1, [1e-9], False, False, id="one-small"),
        pytest.param(1, [90.0] * 9, True, False, id="most-large"),
        pytest.param(1, [1e-9] * 9, False, True, id="most-small"),
        pytest.param(1, [90.0] * 8 + [nan], False, False, id="nan"),
        pytest.param(64, [90.0], True, False, id="a-large-batch"),
        pytest.param(64, [1e-9], False, True, id="a-small-batch"),
    ],
)
def test_gradient_norms(size: int, newest: list[float], spike: bool, collapse: bool) -> None:
    made = History(setup(size), grad_norm=[0.5, 2.0] * 100 + newest)
    assert bool(GradientSpike().check(made)) is spike
    assert bool(GradientCollapse().check(made)) is collapse


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        pytest.param([1.0] * 16, True, id="the-loss-stands"),
        pytest.param([0.1] * 16, False, id="solved"),
        pytest.param([9.0] + [0.1] * 15, False, id="solved-but-for-one"),
        pytest.param([0.0] * 16, False, id="nothing-to-learn"),
        pytest.param([0.4] * 16, True, id="hardly-lower"),
    ],
)
def test_gradients_that_are_small_as_the_samples_are_solved(
    newest: list[float], expected: bool
) -> None:
    made = History(
        setup(1), grad_norm=[0.5, 2.0] * 100 + [1e-9] * 16, loss=[0.5, 2.0] * 100 + newest
    )
    assert bool(GradientCollapse().check(made)) is expected


@pytest.mark.parametrize(
    ("size", "expected"), [pytest.param(1, False, id="samples"), pytest.param(64, True, id="batch")]
)
def test_small_gradients_where_samples_were_solved_long_ago(size: int, expected: bool) -> None:
    newest = 16 if size == 1 else 1
    made = History(
        setup(size),
        grad_norm=[2.0] * 40 + [1e-3] * 80 + [1e-9] * newest,
        loss=[2.0] * 40 + [0.0, 1e-3] * 40 + [1e-3] * newest,
    )
    assert bool(GradientCollapse().check(made)) is expected


def inputs(sizes: Sequence[float], size: int = 1) -> History:
    made = History(setup(size))
    for step, each in enumerate(sizes):
        row = {"norm": each * 2, "count": 4.0, "mean": each, "variance": 0.0}
        batch = Table.of("batch", step, {"input": row})
        layer = Table.of("activation", step, {"0": row})
        made.append(Vitals(step=step, tables=[batch, layer]))
    return made


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([3.0] * 15 + [14.0], False, id="one-large-sample"),
        pytest.param([14.0] * 15 + [3.0], False, id="not-this-one"),
        pytest.param([14.0] * 15, False, id="too-early"),
        pytest.param([14.0] * 16, True, id="all-are-large"),
        pytest.param([14.0, 9.0] * 7 + [9.0, 14.0], True, id="on-average"),
        pytest.param([140.0], True, id="far-too-large"),
    ],
)
def test_unnormalised_input(sizes: list[float], expected: bool) -> None:
    assert bool(UnnormalisedInput(extreme=10).check(inputs(sizes))) is expected


def test_unnormalised_input_in_one_batch_is_enough_if_it_is_large() -> None:
    assert UnnormalisedInput(extreme=10).check(inputs([3.0, 14.0], size=16)) is not None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([-0.9, 0.5, 1.1, -0.2, 0.3, -1.05, 0.8, 0.1], False, id="a-little-out"),
        pytest.param([-0.9, 0.5, 3.0, -0.2, 0.3, -1.05, 0.8, 0.1], True, id="far-out"),
        pytest.param([3.0], False, id="one-tells-no-deviation"),
    ],
)
def test_targets_out_of_reach(values: list[float], expected: bool) -> None:
    made = History(Setup(output_shape=(1, 1), loss="mse", output="tanh", task="regression"))
    for step, value in enumerate(values):
        row = {"count": 1, "norm": abs(value), "mean": value, "variance": 0.0}
        row |= {"minimum": value, "maximum": value}
        made.append(Vitals(step=step, tables=[Table.of("batch", step, {"target": row})]))
    assert bool(ImproperOutput().check(made)) is expected


def test_a_clamp_is_not_told_from_one_output() -> None:
    made = History(Setup(output_shape=(1, 1), loss="mse", output="clamp", task="regression"))
    target = {"count": 1, "norm": 0.9, "mean": 0.9, "variance": 0.0, "minimum": 0.9, "maximum": 0.9}
    output = {"minimum": 0.2, "maximum": 0.2, "lower_quartile": 0.2, "upper_quartile": 0.2}
    for step in range(20):
        rows = {"output": {"count": 1, **output}, "target": target}
        made.append(Vitals(step=step, tables=[Table.of("batch", step, rows)]))
    assert ImproperOutput().check(made) is None
    made.setup = Setup(output_shape=(64, 1), loss="mse", output="clamp", task="regression")
    assert ImproperOutput().check(made) is not None


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param([0.001, *[1.0] * 15], False, id="a-lucky-first-sample"),
        pytest.param([0.1] * 16, True, id="really-lower-at-first"),
        pytest.param([0.9, *[1.0] * 14, 99.0], False, id="one-far-off"),
    ],
)
def test_learning_rate_too_high(first: list[float], expected: bool) -> None:
    rows = {"a.weight": {"update_ratio": 0.2}, "b.weight": {"update_ratio": 0.2}}
    made = history(1, "weight", [rows] * 3, loss=[*first, *[1.0] * 15, 99.0])
    assert bool(LearningRateTooHigh().check(made)) is expected


def test_overfitting_against_the_start_of_many() -> None:
    made = History(setup(1), loss=[0.001, *[3.0] * 15])
    for loss, val_loss in [(0.6, 0.5), (0.4, 0.7), (0.3, 0.75), (0.2, 0.75), (0.2, 0.75)]:
        made.end_epoch(loss=loss, val_loss=val_loss)
    assert Overfitting().check(made) is None  # a rise of 0.2, a tenth of 3.0 would count
    assert Overfitting(samples=1).check(made) is not None
