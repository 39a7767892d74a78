from collections.abc import Mapping, Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import SaturatedActivation
from sickbay.vitals import Setup, Table, Vitals

LAYERS = {"0": "Linear", "1": "Sigmoid", "2": "Linear", "3": "Tanh", "4": "Linear"}
GOOD = (1.0, *[0.5] * 10)
LIMIT = 2.0**-6
problem = SaturatedActivation(slope=LIMIT, checks=2, loss_drop=0.25, accuracy=0.7)
Moments = tuple[float, float]

# Mean and variance; the mean slope of a sigmoid is mean (1 - mean) - variance.
MIDDLE: Moments = (0.5, 0.0)
SPLIT: Moments = (0.5, 0.25)  # half of them 0, half of them 1
TOP: Moments = (1.0, 0.0)


def history(
    readings: Sequence[Mapping[str, Moments]],
    *,
    loss: Sequence[float] = (1.0, 1.0),
    accuracy: Sequence[float] = (),
    layers: Mapping[str, str] = LAYERS,
) -> History:
    made = History(Setup(layers=layers), loss=loss, accuracy=accuracy)
    for step, reading in enumerate(readings):
        rows = {
            name: {"mean": mean, "variance": variance}
            for name, (mean, variance) in {**reading, "4": (0.0, 1.0)}.items()
        }
        made.append(Vitals(step=step, tables=[Table.of("activation", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([{"1": SPLIT}] * 2, ("1",), id="both-ends"),
        pytest.param([{"1": TOP}] * 2, ("1",), id="one-end"),
        pytest.param([{"1": (0.0, 0.0)}] * 2, ("1",), id="the-other-end"),
        pytest.param([{"1": MIDDLE}] * 2, (), id="middle"),
        pytest.param([{"1": (0.5, 0.25 - LIMIT)}] * 2, (), id="at-the-limit"),
        pytest.param([{"1": (0.5, 0.2501 - LIMIT)}] * 2, ("1",), id="below-the-limit"),
        pytest.param([{"3": (0.0, 1.0 - 4 * LIMIT)}] * 2, (), id="tanh-at-the-limit"),
        pytest.param([{"3": (0.0, 1.001 - 4 * LIMIT)}] * 2, ("3",), id="tanh-below-the-limit"),
        pytest.param([{"3": (-1.0, 0.0)}] * 2, ("3",), id="tanh-at-one-end"),
        pytest.param([{"3": (0.0, 0.3)}] * 2, (), id="tanh-in-the-middle"),
        pytest.param([{"1": TOP, "3": MIDDLE}] * 2, ("1",), id="one-of-two"),
        pytest.param([{"1": TOP, "3": TOP}] * 2, ("1", "3"), id="both"),
        pytest.param([{"0": TOP, "2": SPLIT}] * 2, (), id="other-layers"),
        pytest.param([{"1": TOP}], (), id="too-early"),
        pytest.param([], (), id="no-reading"),
        pytest.param([{"1": MIDDLE}, {"1": TOP}], (), id="only-since-now"),
        pytest.param([{"1": TOP}, {"1": MIDDLE}], (), id="no-more"),
        pytest.param([{"3": TOP}, {"1": TOP, "3": MIDDLE}], (), id="another-one-before"),
        pytest.param([{"1": MIDDLE}, *[{"1": TOP}] * 2], ("1",), id="forgets-what-left-the-window"),
        pytest.param([{"1": (nan, nan)}] * 2, (), id="nan"),
        pytest.param([{"1": (nan, 0.0), "3": TOP}] * 2, ("3",), id="nan-beside"),
    ],
)
def test_check(readings: list[dict[str, Moments]], expected: tuple[str, ...]) -> None:
    finding = problem.check(history(readings))
    assert (finding.layers if finding else ()) == expected


def test_the_last_activation_does_not_count() -> None:
    layers = {"1": "Sigmoid", "4": "Sigmoid"}
    assert problem.check(history([{"1": MIDDLE}] * 2, layers=layers)) is None
    assert problem.check(history([{"1": TOP}] * 2, layers=layers)) is not None


@pytest.mark.parametrize(
    ("kind", "moments", "expected"),
    [
        pytest.param("Hardsigmoid", TOP, True, id="hardsigmoid"),
        pytest.param("Softsign", (-1.0, 0.0), True, id="softsign"),
        pytest.param("Softsign", (1.0, 0.0), True, id="softsign-at-the-other-end"),
        pytest.param("Softsign", (0.0, 0.0), False, id="softsign-in-the-middle"),
        pytest.param("RNN", (-1.0, 0.0), True, id="rnn"),
        pytest.param("RNN", (1.0, 0.0), True, id="rnn-at-the-other-end"),
        pytest.param("RNN", (0.0, 0.3), False, id="rnn-in-the-middle"),
        pytest.param("ReLU", (0.0, 0.0), False, id="relu"),
    ],
)
def test_activations(kind: str, moments: Moments, expected: bool) -> None:
    made = history([{"1": moments}] * 2, layers={"1": kind})
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        pytest.param((1.0, 1.0), [], True, id="learns-badly"),
        pytest.param(GOOD, [], False, id="learns-well"),
        pytest.param((1.0, 1.0), [0.7], True, id="accuracy-at-the-limit"),
        pytest.param((1.0, 1.0), [0.71], False, id="accuracy-above-the-limit"),
        pytest.param((), [], True, id="no-loss"),
    ],
)
def test_only_while_it_learns_badly(
    loss: Sequence[float], accuracy: list[float], expected: bool
) -> None:
    made = history([{"1": TOP}] * 2, loss=loss, accuracy=accuracy)
    assert bool(problem.check(made)) is expected


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([{"1": TOP, "3": TOP}, {"1": (0.5, 0.24), "3": (0.0, 0.98)}])
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("saturated_activation", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (1, 2, ("1", "3"))
    assert finding.evidence == {"slope": pytest.approx(0.005)}
    assert finding.message == (
        "2 of 2 sigmoid or tanh layers saturated, mean slope 0.005 (limit 0.015625)"
    )
