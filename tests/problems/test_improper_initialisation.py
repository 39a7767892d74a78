from math import nan

import pytest

from sickbay.history import History
from sickbay.problems.improper_initialisation import ImproperInitialisation
from sickbay.vitals import Setup

SHAPES = {"a.weight": (8, 100), "a.bias": (8,), "c.weight": (2, 8), "c.bias": (2,)}
FINE = {"minimum": -1.0, "maximum": 1.0}


def history(step: int = 0, after: str = "ReLU", **changed: dict[str, float]) -> History:
    setup = Setup(layers={"a": "Linear", "b": after, "c": "Linear"}, shapes=SHAPES)
    rows = {
        "a.weight": {"norm": 2.0, "count": 800, **FINE, **changed.get("first", {})},
        "a.bias": {"norm": 1.0, "count": 8, **FINE, **changed.get("bias", {})},
        "c.weight": {"norm": 0.5, "count": 16, **FINE, **changed.get("last", {})},
        "c.bias": {"norm": 0.1, "count": 2, **FINE},
    }
    made = History(setup)
    made.add_table("weight", rows, step)
    return made


LARGE = {"norm": 28.3}
MOVED = {**LARGE, "update_ratio": 0.2}
ZERO = {"norm": 0.0, "minimum": 0.0, "maximum": 0.0}
SHUT = {"minimum": -3.0, "maximum": -2.0}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(history(), "", id="usual"),
        pytest.param(history(first=LARGE), "10 times as large as sums of 100 inputs", id="large"),
        pytest.param(history(first=LARGE, after="BatchNorm1d"), "", id="normalised"),
        pytest.param(history(first=LARGE, step=50), "", id="trained"),
        pytest.param(history(first=LARGE, step=2), "10 times as large", id="second-step"),
        pytest.param(history(first=MOVED, step=2), "", id="after-a-large-step"),
        pytest.param(history(first=MOVED), "10 times as large", id="before-a-large-step"),
        pytest.param(history(first=ZERO), "start at 0", id="first-layer-at-zero"),
        pytest.param(history(last=ZERO), "", id="last-layer-at-zero"),
        pytest.param(history(bias=SHUT), "start at -2 or below", id="shut"),
        pytest.param(history(bias=SHUT, after="Tanh"), "", id="no-relu"),
        pytest.param(History(), "", id="nothing-read"),
    ],
)
def test_check(given: History, expected: str) -> None:
    finding = ImproperInitialisation().check(given)
    assert expected in finding.message if finding and expected else not finding and not expected


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        pytest.param(0.5, True, id="at-the-limit"),
        pytest.param(0.51, False, id="trained-before"),
        pytest.param(-9.0, True, id="thrown-off"),
        pytest.param(nan, True, id="not-known"),
    ],
)
def test_weights_that_were_trained_may_be_large(score: float, expected: bool) -> None:
    made = History(history().setup, score=[score], constant_score=[0.0])
    made.add_table("weight", {"a.weight": {**FINE, **LARGE, "count": 800}}, 0)
    assert bool(ImproperInitialisation().check(made)) is expected


@pytest.mark.parametrize(
    ("first", "second", "width", "kind", "expected"),
    [
        pytest.param(0.0, 0.0, 6, "Embedding", True, id="both"),
        pytest.param(0.0, 1e-9, 6, "Embedding", False, id="one-of-two"),
        pytest.param(0.0, 0.0, 1, "Embedding", False, id="biases"),
        pytest.param(0.0, 0.0, 6, "Other", False, id="no-embeddings"),
    ],
)
def test_embeddings(first: float, second: float, width: int, kind: str, expected: bool) -> None:
    shapes = {"a.weight": (80, width), "b.weight": (60, width), "c.weight": (60, 1)}
    made = History(Setup(layers={"a": kind, "b": kind, "c": kind}, shapes=shapes))
    sizes = {"a.weight": first, "b.weight": second, "c.weight": 0.0}
    made.add_table("weight", {name: {"absmax": size} for name, size in sizes.items()})
    assert bool(ImproperInitialisation().check(made)) is expected


def test_a_single_embedding_may_start_at_zero() -> None:
    made = History(Setup(layers={"a": "Embedding"}, shapes={"a.weight": (80, 6)}))
    made.add_table("weight", {"a.weight": {"absmax": 0.0}})
    assert ImproperInitialisation().check(made) is None


@pytest.mark.parametrize(
    ("one", "two", "kind", "expected"),
    [
        pytest.param((9, 100), (100, 5), "Module", "sums of 100 inputs", id="inputs-first"),
        pytest.param((100, 9), (5, 100), "Module", "sums of 100 inputs", id="inputs-last"),
        pytest.param((60, 9), (100, 9), "Module", "", id="tables-side-by-side"),
        pytest.param((9, 100), (100, 100), "Module", "", id="a-square-fits-by-chance"),
        pytest.param((9, 100), (100, 5), "Embedding", "", id="embeddings"),
    ],
)
def test_matrices_of_own_classes(
    one: tuple[int, int], two: tuple[int, int], kind: str, expected: str
) -> None:
    made = History(Setup(layers={"a": kind, "b": kind}, shapes={"a.w": one, "b.w": two}))
    sizes = {"a.w": one, "b.w": two}
    rows = {
        name: {"norm": (rows * columns) ** 0.5, "count": rows * columns, "absmax": 3.0}
        for name, (rows, columns) in sizes.items()
    }
    made.add_table("weight", rows)
    finding = ImproperInitialisation().check(made)
    assert expected in finding.message if finding and expected else not finding and not expected
