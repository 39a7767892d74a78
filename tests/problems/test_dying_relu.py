from collections.abc import Mapping, Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import DyingRelu
from sickbay.vitals import Setup, Table, Vitals

Rows = Mapping[str, tuple[float, float]]
HEALTHY: Rows = {"a.weight": (0.2, 100), "b.weight": (0.0, 100)}
SICK: Rows = {"a.weight": (1.0, 100), "b.weight": (0.6, 100)}
MORE = 1 + 1e-9
problem = DyingRelu(share=0.75, checks=2)


def history(
    readings: Sequence[Rows],
    *,
    loss: Sequence[float] = (1.0, 1.0),
    accuracy: Sequence[float] = (),
    layers: Mapping[str, str] | None = None,
) -> History:
    made = History(Setup(layers=layers or {}), loss=loss, accuracy=accuracy)
    for step, reading in enumerate(readings):
        rows = {name: {"zeros": zeros, "count": count} for name, (zeros, count) in reading.items()}
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK, SICK], True, id="dying"),
        pytest.param([{"a.weight": (0.75, 8)}] * 2, True, id="at-the-limit"),
        pytest.param([{"a.weight": (0.75 / MORE, 8)}] * 2, False, id="below-the-limit"),
        pytest.param([{"a.weight": (1.0, 90), "b.weight": (0.0, 10)}] * 2, True, id="by-size"),
        pytest.param([{"a.weight": (1.0, 10), "b.weight": (0.0, 90)}] * 2, False, id="small-part"),
        pytest.param([{"a.weight": (0.8, 1)}] * 2, True, id="any-size-small"),
        pytest.param([{"a.weight": (0.8, 1e12)}] * 2, True, id="any-size-large"),
        pytest.param([SICK], False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], True, id="forgets-what-left-the-window"),
        pytest.param([{"a.weight": (nan, 100)}] * 2, False, id="nan"),
        pytest.param([{"a.weight": (nan, 0), "b.weight": (1.0, 9)}] * 2, True, id="nan-elsewhere"),
        pytest.param([{"a.weight": (nan, nan), "b.weight": (1.0, 9)}] * 2, True, id="unmeasured"),
        pytest.param([{"a.weight": (1.0, 0)}] * 2, False, id="empty"),
        pytest.param([{}] * 2, False, id="no-layer"),
    ],
)
def test_check(readings: list[Rows], expected: bool) -> None:
    assert bool(problem.check(history(readings))) is expected


@pytest.mark.parametrize(
    ("loss", "accuracy", "expected"),
    [
        pytest.param([1.0], [0.7], True, id="accuracy-at-the-limit"),
        pytest.param([1.0], [0.71], False, id="accuracy-above-the-limit"),
        pytest.param([1.0, *[0.1] * 10], [], False, id="loss-fell"),
        pytest.param([1.0, *[0.1] * 10], [0.5], True, id="loss-fell-but-accuracy-is-low"),
        pytest.param([1.0, 1.0], [], True, id="loss-stays"),
        pytest.param([1.0, inf], [], True, id="loss-is-inf"),
    ],
)
def test_only_while_it_learns_badly(
    loss: list[float], accuracy: list[float], expected: bool
) -> None:
    assert bool(problem.check(history([SICK, SICK], loss=loss, accuracy=accuracy))) is expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("Linear", True, id="layer"),
        pytest.param("Embedding", False, id="embedding"),
        pytest.param("EmbeddingBag", False, id="bag"),
    ],
)
def test_the_zeros_of_embeddings_do_not_count(kind: str, expected: bool) -> None:
    reading: Rows = {"words.weight": (0.99, 900), "b.weight": (0.1, 100)}
    made = history([reading] * 2, layers={"words": kind, "b": "Linear"})
    assert bool(problem.check(made)) is expected


def test_a_large_embedding_does_not_hide_what_is_dying() -> None:
    reading: Rows = {"words.weight": (0.9, 900), "b.weight": (1.0, 100), "c.weight": (0.8, 100)}
    made = history([reading] * 2, layers={"words": "Embedding", "b": "Linear", "c": "Linear"})
    finding = problem.check(made)
    assert finding is not None
    assert finding.evidence == pytest.approx({"share": 0.9})
    assert finding.layers == ("b", "c")


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    reading: Rows = {
        "a.weight": (0.75, 100),
        "a.bias": (0.7, 100),
        "b.weight": (0.7, 100),
        "c.weight": (0.95, 100),
    }
    made = history([HEALTHY, SICK, reading])
    made.append(Vitals(step=9, epoch=4, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("dying_relu", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (2, 4, ("a", "c"))
    assert finding.evidence == pytest.approx({"share": 0.775})
    assert finding.message == "77.5 % of all gradient entries are exactly 0 (limit 75 %)"


def test_recurrent_matrices_are_left_out() -> None:
    rows = {
        "a.weight_ih_l0": {"zeros": 0.0, "count": 1.0},
        "a.weight_hh_l0": {"zeros": 1.0, "count": 99.0},
    }
    made = History(loss=[1.0])
    made.add_table("gradient", rows)
    assert DyingRelu(checks=1).check(made) is None


START = {"a.weight": (1.0, 80), "b.weight": (1.0, 9), "b.bias": (0.0, 3)}
MEANT = {"a.weight": (1.0, 80), "b.weight": (1.0, 9), "b.bias": (1.0, 3)}
LATER = {"a.weight": (1.0, 80), "b.weight": (0.5, 9), "b.bias": (0.0, 3)}


@pytest.mark.parametrize(
    ("first", "kind", "expected"),
    [
        pytest.param(START, "Linear", True, id="fed-zeros"),
        pytest.param(START, "GRU", False, id="a-decoder-may-be-fed-zeros"),
        pytest.param(MEANT, "Linear", False, id="no-gradient-at-all"),
        pytest.param(LATER, "Linear", False, id="fed-something"),
    ],
)
def test_what_shows_before_the_first_update(first: Rows, kind: str, expected: bool) -> None:
    made = history([first, START], layers={"a": kind, "b": kind})
    made.setup = Setup(layers={"a": kind, "b": kind}, shapes={"a.weight": (8, 10), "b.bias": (3,)})
    finding = problem.check(made)
    assert finding is not None
    assert problem.stands_alone(finding) is expected


@pytest.mark.parametrize(("bias", "expected"), [(-10.0, False), (-0.5, True)])
def test_units_that_biases_shut_are_a_consequence_of_these(bias: float, expected: bool) -> None:
    made = history([START, START])
    shapes: dict[str, tuple[int, ...]] = {"a.weight": (8, 10), "a.bias": (8,), "b.bias": (3,)}
    made.setup = Setup(layers={"a": "Linear", "relu": "ReLU", "b": "Linear"}, shapes=shapes)
    made.add_table("weight", {"a.bias": {"maximum": bias}}, step=0)
    finding = problem.check(made)
    assert finding is not None
    assert problem.stands_alone(finding) is expected
