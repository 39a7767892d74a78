from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import UnchangedWeights
from sickbay.vitals import Setup, Table, Vitals

problem = UnchangedWeights(checks=2)


def history(readings: Sequence[Sequence[float]], setup: Setup | None = None) -> History:
    made = History(setup, loss=[1.0])
    for step, ratios in enumerate(readings):
        rows = {f"{'abcd'[at]}.weight": {"update_ratio": each} for at, each in enumerate(ratios)}
        made.append(Vitals(step=step, tables=[Table.of("weight", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([[0.0, 0.1]] * 2, ("a",), id="the-first"),
        pytest.param([[0.1, 0.0, 0.1, 0.0]] * 2, ("b", "d"), id="several"),
        pytest.param([[1e-30, 0.1]] * 2, (), id="hardly-changed"),
        pytest.param([[0.0, 1e-30]] * 2, ("a",), id="any-scale"),
        pytest.param([[0.1, 0.1]] * 2, (), id="all-change"),
        pytest.param([[0.0, 0.0]] * 2, (), id="none-changes"),
        pytest.param([[0.0, 0.1], [0.0, 0.0]], (), id="none-changes-now"),
        pytest.param([[0.0, 0.0], [0.0, 0.1]], (), id="none-changed-before"),
        pytest.param([[0.0, 0.1]], (), id="too-early"),
        pytest.param([], (), id="no-reading"),
        pytest.param([[0.1, 0.1], [0.0, 0.1]], (), id="only-since-now"),
        pytest.param([[0.0, 0.1], [0.1, 0.1]], (), id="no-more"),
        pytest.param([[0.0, 0.1], [0.1, 0.0]], (), id="in-turns"),
        pytest.param([[0.1, 0.1], *[[0.0, 0.1]] * 2], ("a",), id="forgets-what-left-the-window"),
        pytest.param([[nan, 0.1]] * 2, (), id="nan"),
        pytest.param([[0.0, inf]] * 2, ("a",), id="inf-beside"),
        pytest.param([[0.0, 0.1], [0.0, 0.1, 0.1]], (), id="the-model-has-changed"),
        pytest.param([[0.0]] * 2, (), id="one-layer"),
        pytest.param([[]] * 2, (), id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: tuple[str, ...]) -> None:
    finding = problem.check(history(readings))
    assert (finding.layers if finding else ()) == expected


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([[1.0, 0.5]] * 2, ("a",), id="no-gradient"),
        pytest.param([[0.999, 0.5]] * 2, (), id="hardly-any"),
        pytest.param([[1.0, 1.0]] * 2, (), id="nowhere"),
        pytest.param([[1.0, 0.5]], (), id="too-early"),
        pytest.param([[0.5, 0.5], [1.0, 0.5]], (), id="only-since-now"),
        pytest.param([[nan, 0.5]] * 2, (), id="nan"),
    ],
)
def test_gradients_of_zero(readings: list[list[float]], expected: tuple[str, ...]) -> None:
    made = history([[0.1, 0.1]] * 2)
    for step, zeros in enumerate(readings):
        rows = {f"{'ab'[at]}.weight": {"zeros": each} for at, each in enumerate(zeros)}
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    finding = problem.check(made)
    assert (finding.layers if finding else ()) == expected
    if finding is not None:
        assert finding.message == "1 of 2 kernels had a gradient of 0 in 2 readings"


def test_what_is_not_called_is_left_out() -> None:
    assert problem.check(history([[0.0, 0.1]] * 2, Setup(uncalled=("a",)))) is None
    assert problem.check(history([[0.0, 0.0, 0.1]] * 2, Setup(uncalled=("a",)))) is not None


def test_biases_and_embeddings_are_left_out() -> None:
    shapes = {"a.weight": (4,), "b.weight": (9, 4), "c.weight": (4, 4), "d.weight": (4, 4)}
    setup = Setup(shapes=shapes, layers={"b": "Embedding"})
    finding = problem.check(history([[0.0, 0.0, 0.0, 0.1]] * 2, setup))
    assert finding is not None
    assert finding.layers == ("c",)
    assert finding.message == "1 of 2 kernels did not change in 2 readings"
    assert problem.check(history([[0.0, 0.0, 0.1, 0.1]] * 2, setup)) is None
    assert problem.check(history([[0.1, 0.1, 0.0, 0.0]] * 2, setup)) is None


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([[0.0, 0.1, 0.0]] * 2)
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("unchanged_weights", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (0, 2, ("a", "c"))
    assert finding.message == "2 of 3 kernels did not change in 2 readings"


@pytest.mark.parametrize(
    ("scalars", "expected"),
    [
        pytest.param({"loss": 0.05}, False, id="hardly-any-loss-is-left"),
        pytest.param({"loss": 0.051}, True, id="some-is"),
        pytest.param({"grad_norm": 0.9e-3}, False, id="hardly-any-gradient"),
        pytest.param({"grad_norm": 1e-3}, True, id="at-the-limit"),
        pytest.param({"lr": 0.9e-3}, False, id="the-rate-has-run-out"),
        pytest.param({"lr": 1e-3}, True, id="at-the-limit-of-the-rate"),
        pytest.param({"loss": nan, "grad_norm": nan}, True, id="nan"),
    ],
)
def test_at_a_minimum_nothing_moves(scalars: dict[str, float], expected: bool) -> None:
    made = History(loss=[1.0], grad_norm=[1.0], lr=[1.0])
    for step in range(1, 12):
        made.append(Vitals(step=step, scalars=scalars))
    for step in (10, 11):
        rows = {"a.weight": {"update_ratio": 0.0}, "b.weight": {"update_ratio": 0.1}}
        made.append(Vitals(step=step, tables=[Table.of("weight", step, rows)]))
    assert bool(problem.check(made)) is expected


def test_recurrent_matrices_are_left_out() -> None:
    still = {"update_ratio": 0.0}
    rows = {"a.weight_ih_l0": {"update_ratio": 0.1}, "a.weight_hh_l0": still, "b.weight": {}}
    assert problem.check(read_twice(rows)) is None
    finding = problem.check(
        read_twice({**rows, "a.weight_ih_l0": still, "b.weight": {"update_ratio": 0.1}})
    )
    assert finding is not None
    assert finding.layers == ("a",)
    assert finding.message == "1 of 2 kernels did not change in 2 readings"


def read_twice(rows: dict[str, dict[str, float]]) -> History:
    made = History(loss=[1.0])
    for step in range(2):
        made.append(Vitals(step=step, tables=[Table.of("weight", step, rows)]))
    return made
