from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import VanishingGradient
from sickbay.vitals import Setup, Table, Vitals

RATIO, NORM = 2.0**-10, 2.0**-13
HEALTHY, SICK = [0.5, 0.5, 0.5], [2.0**-20, 0.1, 0.5]
MORE = 1 + 1e-9
problem = VanishingGradient(ratio=RATIO, norm=NORM, floor=0, checks=2)


def history(
    readings: Sequence[Sequence[float]],
    *,
    loss: Sequence[float] = (1.0, 1.0),
    accuracy: Sequence[float] = (),
    val_accuracy: Sequence[float] = (),
) -> History:
    made = History(loss=loss, accuracy=accuracy, val_accuracy=val_accuracy)
    for step, norms in enumerate(readings):
        rows = {f"{index}.weight": {"norm": norm} for index, norm in enumerate(norms)}
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK, SICK], True, id="vanishing"),
        pytest.param([[0.0, 1.0]] * 2, True, id="nothing-arrives"),
        pytest.param([[2.0**-14, 2.0**-4]] * 2, True, id="at-the-limit-of-the-ratio"),
        pytest.param([[2.0**-14 * MORE, 2.0**-4]] * 2, False, id="above-the-limit-of-the-ratio"),
        pytest.param([[NORM, 1.0]] * 2, True, id="at-the-limit-of-the-norm"),
        pytest.param([[NORM * MORE, 1.0]] * 2, False, id="above-the-limit-of-the-norm"),
        pytest.param([[1e-9, 1e-9]] * 2, False, id="small-everywhere"),
        pytest.param([[0.5, 1e-9, 0.5]] * 2, False, id="small-in-the-middle"),
        pytest.param([[0.5, 2.0**-20]] * 2, False, id="small-at-the-end"),
        pytest.param([SICK], False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], True, id="forgets-what-left-the-window"),
        pytest.param([[nan, 0.5]] * 2, False, id="nan-first"),
        pytest.param([[1e-9, nan]] * 2, False, id="nan-last"),
        pytest.param([[1e-9, nan, 0.5]] * 2, True, id="nan-between"),
        pytest.param([[inf, 0.5]] * 2, False, id="inf-first"),
        pytest.param([[0.0, 0.0]] * 2, False, id="no-gradient-at-all"),
        pytest.param([[1e-9]] * 2, False, id="one-layer"),
        pytest.param([[]] * 2, False, id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: bool) -> None:
    made = history(readings)
    made.append(Vitals(step=made.step, scalars={"output_spread": 0.0}))
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("accuracy", "val_accuracy", "loss", "expected"),
    [
        pytest.param([0.7], [], [1.0], True, id="accuracy-at-the-limit"),
        pytest.param([0.71], [], [1.0], False, id="accuracy-above-the-limit"),
        pytest.param([0.9, 0.2], [], [1.0], False, id="accuracy-was-above-the-limit"),
        pytest.param([0.2], [0.9], [1.0], False, id="validation-accuracy-above-the-limit"),
        pytest.param([0.2], [], [1.0, 0.1], True, id="accuracy-outweighs-the-loss"),
        pytest.param([nan], [nan], [1.0], True, id="accuracy-nan"),
        pytest.param([nan, 0.9], [], [1.0], False, id="accuracy-nan-at-first"),
        pytest.param([], [], [1.0, *[0.75] * 10], True, id="loss-at-the-limit"),
        pytest.param([], [], [1.0, *[0.74] * 10], False, id="loss-below-the-limit"),
        pytest.param([], [], [2.0**20, *[2.0**20 * 0.75] * 10], True, id="any-scale-at-the-limit"),
        pytest.param([], [], [2.0**-20, *[2.0**-21] * 10], False, id="any-scale-below-the-limit"),
        pytest.param([], [], [*[1.0] * 9, 0.1], True, id="one-low-loss"),
        pytest.param([], [], [-1.0, *[-1.25] * 10], True, id="negative-loss-at-the-limit"),
        pytest.param([], [], [-1.0, *[-1.26] * 10], False, id="negative-loss-below-the-limit"),
        pytest.param([], [], [1.0, 0.0, *[1.0] * 10], True, id="loss-fell-long-ago"),
        pytest.param([], [], [1.0, *[0.1] * 9], False, id="first-loss-among-the-recent"),
        pytest.param([], [], [1.0, 0.1, nan], True, id="loss-nan"),
        pytest.param([], [], [nan, 1.0, *[0.1] * 10], False, id="loss-nan-at-first"),
        pytest.param([], [], [nan, nan], True, id="loss-always-nan"),
        pytest.param([], [], [1.0, 5.0], True, id="loss-rose"),
        pytest.param([], [], [], True, id="no-loss"),
    ],
)
def test_only_while_it_learns_badly(
    accuracy: list[float], val_accuracy: list[float], loss: list[float], expected: bool
) -> None:
    patient = VanishingGradient(checks=1, loss_drop=0.25, accuracy=0.7)
    sick = history([SICK], loss=loss, accuracy=accuracy, val_accuracy=val_accuracy)
    assert bool(patient.check(sick)) is expected


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        pytest.param([{"loss": 1.0}], True, id="loss"),
        pytest.param([{"loss": 1.0}, {"loss": 0.1}], False, id="loss-fell"),
        pytest.param([{"val_accuracy": 0.9}], False, id="accuracy"),
    ],
)
def test_metrics_by_epoch_are_enough(epochs: list[dict[str, float]], expected: bool) -> None:
    sick = history([SICK, SICK], loss=())
    for metrics in epochs:
        sick.end_epoch(**metrics)
    assert bool(VanishingGradient(checks=2).check(sick)) is expected


def test_biases_are_left_out() -> None:
    shapes = {"n.weight": (4,), "a.weight": (4, 4), "b.weight": (4, 4), "b.bias": (4,)}
    made = History(Setup(shapes=shapes), loss=[1.0])
    norms = {"n.weight": 1.0, "a.weight": 1e-9, "b.weight": 1.0, "b.bias": 0.0}
    rows = {name: {"norm": norm} for name, norm in norms.items()}
    made.append(Vitals(step=0, tables=[Table.of("gradient", 0, rows)]))
    finding = VanishingGradient(checks=1).check(made)
    assert finding is not None
    assert finding.layers == ("a",)


def test_one_layer_has_no_ratio() -> None:
    assert VanishingGradient(ratio=1, checks=1).check(history([[1e-9]])) is None


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([HEALTHY, [1e-6, 1e-5, 0.5, 1e-5, 0.25], [1e-7, 1e-5, 0.5, 1e-5, 0.25]])
    made.append(Vitals(step=9, epoch=4, scalars={"loss": 1.0}))
    finding = VanishingGradient(checks=2, ratio=1e-3, norm=1e-4).check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("vanishing_gradient", "warning")
    assert (finding.step, finding.epoch) == (2, 4)
    assert finding.layers == ("0", "1", "3")
    numbers = {"first": 1e-7, "last": 0.25, "ratio": 4e-7, "squashing": 0}
    assert finding.evidence == numbers
    assert finding.message == "gradient norm 1e-07 (limit 0.0001), first/last 4e-07 (limit 0.001)"


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param([1e-9, 1e-9], True, id="below-the-floor"),
        pytest.param([1e-8, 1e-9], True, id="at-the-floor"),
        pytest.param([1e-8 * MORE, 1e-9], False, id="above-the-floor"),
        pytest.param([0.0, 0.0], False, id="nothing-at-all"),
    ],
)
def test_a_floor_below_which_the_last_layer_does_not_matter(
    norms: list[float], expected: bool
) -> None:
    floored = VanishingGradient(ratio=RATIO, norm=NORM, floor=1e-8, checks=1)
    assert bool(floored.check(history([norms]))) is expected


@pytest.mark.parametrize(
    ("spreads", "loss", "expected"),
    [
        pytest.param([0.01, 0.01], [1.0, 0.1], True, id="a-falling-loss-means-nothing"),
        pytest.param([0.01, 0.01 * MORE], [1.0, 1.0], False, id="above-the-limit"),
        pytest.param([0.5, 0.0], [1.0, 1.0], False, id="only-since-now"),
        pytest.param([], [1.0, 1.0], True, id="not-known-and-no-fall"),
        pytest.param([], [1.0, 0.1, 0.1], False, id="not-known-and-a-fall"),
    ],
)
def test_outputs_that_do_not_depend_on_the_inputs(
    spreads: list[float], loss: list[float], expected: bool
) -> None:
    made = history([SICK, SICK], loss=loss)
    for step, spread in enumerate(spreads):
        made.append(Vitals(step=step, scalars={"output_spread": spread}))
    spread_aware = VanishingGradient(ratio=RATIO, norm=NORM, spread=0.01, checks=2, after=0)
    assert bool(spread_aware.check(made)) is expected


@pytest.mark.parametrize(
    ("spread", "step", "expected"),
    [
        pytest.param(0.001, 2, True, id="certain"),
        pytest.param(0.002, 2, False, id="too-early"),
        pytest.param(0.002, 99, False, id="just-too-early"),
        pytest.param(0.002, 100, True, id="had-time-to-learn"),
        pytest.param(nan, 100, False, id="nan"),
    ],
)
def test_a_small_last_layer_gets_time(spread: float, step: int, expected: bool) -> None:
    made = history([SICK, SICK])
    made.append(Vitals(step=step, scalars={"output_spread": spread}))
    waits = VanishingGradient(ratio=RATIO, norm=NORM, spread=0.01, checks=1)
    assert bool(waits.check(made)) is expected


def test_unknown_outputs_need_the_floor() -> None:
    assert VanishingGradient(checks=1, floor=2.0**-20).check(history([SICK])) is not None
    assert VanishingGradient(checks=1, floor=2.0**-21).check(history([SICK])) is None


@pytest.mark.parametrize(
    ("sigmoids", "step", "alone"),
    [
        pytest.param(4, 10, True, id="deep-from-the-start"),
        pytest.param(3, 10, False, id="not-so-deep"),
        pytest.param(4, 11, False, id="later"),
    ],
)
def test_many_sigmoids_are_a_cause_of_its_own(sigmoids: int, step: int, alone: bool) -> None:
    layers = {f"{index}": "Sigmoid" for index in range(sigmoids)} | {"last": "ReLU"}
    made = History(Setup(layers=layers), loss=[1.0])
    made.add_table("gradient", {"a.weight": {"norm": 1e-9}, "b.weight": {"norm": 0.4}}, step)
    rule = VanishingGradient(checks=1)
    finding = rule.check(made)
    assert finding is not None
    assert rule.stands_alone(finding) is alone
