from collections.abc import Mapping, Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import DeadUnits
from sickbay.vitals import Setup, Table, Vitals

LAYERS = {"0": "Linear", "1": "ReLU", "2": "Linear", "3": "ReLU", "4": "Linear"}
BAD, GOOD = (1.0, 1.0), (1.0, *[0.5] * 10)
problem = DeadUnits(share=0.75, loss_drop=0.25, accuracy=0.7)


def history(
    shares: Mapping[str, float],
    *,
    loss: Sequence[float] = BAD,
    accuracy: Sequence[float] = (),
    layers: Mapping[str, str] = LAYERS,
) -> History:
    made = History(Setup(layers=layers), loss=loss, accuracy=accuracy)
    rows = {name: {"lasting_dead": share} for name, share in shares.items()}
    made.append(Vitals(step=0, tables=[Table.of("activation", 0, rows)]))
    return made


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param({"1": 0.75, "4": 0.0}, ("1",), id="at-the-limit"),
        pytest.param({"1": 0.7499, "4": 0.0}, (), id="below-the-limit"),
        pytest.param({"1": 1.0, "3": 0.8, "4": 0.0}, ("1", "3"), id="two-layers"),
        pytest.param({"1": 0.1, "3": 0.8, "4": 0.0}, ("3",), id="the-second"),
        pytest.param({"1": 0.0, "3": 1.0}, (), id="the-last-does-not-count"),
        pytest.param({"0": 1.0, "4": 0.0}, (), id="no-activation"),
        pytest.param({"x": 1.0, "4": 0.0}, (), id="not-known"),
        pytest.param({"0": 0.9, "1": 0.8, "4": 0.0}, ("1",), id="beside-no-activation"),
        pytest.param({"1": 0.0, "4": 0.0}, (), id="healthy"),
        pytest.param({"1": nan, "4": 0.0}, (), id="too-early"),
        pytest.param({"0": nan, "1": 0.8, "4": nan}, ("1",), id="nan-beside"),
        pytest.param({"1": 1.0}, (), id="one-layer"),
        pytest.param({}, (), id="no-layer"),
    ],
)
def test_check(shares: dict[str, float], expected: tuple[str, ...]) -> None:
    finding = problem.check(history(shares))
    assert (finding.layers if finding else ()) == expected


def test_no_reading() -> None:
    assert problem.check(History(Setup(layers=LAYERS), loss=[1.0])) is None


@pytest.mark.parametrize(
    ("share", "loss", "accuracy", "expected"),
    [
        pytest.param(0.99, BAD, [], True, id="learns-badly"),
        pytest.param(0.99, GOOD, [], False, id="learns-well"),
        pytest.param(0.99, BAD, [0.7], True, id="accuracy-at-the-limit"),
        pytest.param(0.99, BAD, [0.71], False, id="accuracy-above-the-limit"),
        pytest.param(1.0, GOOD, [0.99], True, id="dead-altogether-counts-always"),
    ],
)
def test_only_while_it_learns_badly(
    share: float, loss: Sequence[float], accuracy: list[float], expected: bool
) -> None:
    made = history({"1": share, "4": 0.0}, loss=loss, accuracy=accuracy)
    assert bool(problem.check(made)) is expected


def test_one_layer_that_is_dead_altogether_is_enough() -> None:
    finding = problem.check(history({"1": 0.8, "3": 1.0, "4": 0.0}, loss=GOOD))
    assert finding is not None
    assert finding.layers == ("1", "3")


@pytest.mark.parametrize(
    ("share", "expected"),
    [pytest.param(1.0, True, id="all"), pytest.param(0.999, False, id="almost-all")],
)
def test_a_layer_that_puts_out_nothing_counts_at_once(share: float, expected: bool) -> None:
    made = History(Setup(layers=LAYERS), loss=GOOD)
    rows = {"1": {"dead_units": share, "lasting_dead": nan}, "4": {"dead_units": 0.0}}
    made.append(Vitals(step=0, tables=[Table.of("activation", 0, rows)]))
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([nan, nan, 0.8, 0.8], True, id="all-four"),
        pytest.param([nan, nan, 0.7, 0.8], False, id="not-in-the-first-three"),
        pytest.param([nan, nan, 0.8, 0.7], False, id="not-in-the-last-three"),
        pytest.param([0.8, 0.8, 0.8], False, id="too-few"),
    ],
)
def test_what_lasts_over_small_batches(readings: Sequence[float], expected: bool) -> None:
    made = History(Setup(layers=LAYERS, output_shape=(8, 3)), loss=BAD)
    for step, share in enumerate(readings):
        rows = {"1": {"dead_units": 0.9, "lasting_dead": share}, "4": {}}
        made.append(Vitals(step=step, tables=[Table.of("activation", step, rows)]))
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ReLU", True), ("ReLU6", True), ("GELU", True), ("Hardswish", True), ("Linear", False),
        ("Dropout", False), ("LeakyReLU", False), ("Sigmoid", False), ("Embedding", False),
    ],
)  # fmt: skip
def test_what_can_be_silenced(kind: str, expected: bool) -> None:
    made = history({"1": 0.9, "2": 0.0}, layers={"1": kind, "2": "Linear"})
    assert bool(problem.check(made)) is expected


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history({"0": 0.0, "1": 0.8125, "3": 1.0, "4": 0.0})
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("dead_units", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (0, 2, ("1", "3"))
    assert finding.evidence == {"share": 0.8125}
    assert finding.message == "81.2 % of the units of 1 output nothing but 0 (limit 75 %)"
