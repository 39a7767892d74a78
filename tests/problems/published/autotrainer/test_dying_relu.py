from dataclasses import replace
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems.published.autotrainer import DyingRelu
from sickbay.vitals import Setup, Table, Vitals

by_neurons, by_entries = DyingRelu(share=0.75), DyingRelu(share=0.75, of="entries")


def history(dead: list[float], accuracy: list[float], kind: str = "Linear") -> History:
    """Return a reading of kernels of 4 neurons with 2 weights each, and as many zero weights."""
    names = [f"{index}.weight" for index in range(len(dead))]
    layers = {"0": kind, "1": "Linear"}
    setup = Setup(layers=layers, shapes=dict.fromkeys(names, (4, 2)))
    made = History(setup, accuracy=accuracy)
    numbers = [{"dead_units": share, "zeros": share, "count": 8} for share in dead]
    made.append(
        Vitals(step=3, tables=[Table.of("gradient", 3, dict(zip(names, numbers, strict=True)))])
    )
    return made


@pytest.mark.parametrize(
    ("dead", "expected"),
    [
        pytest.param([1.0, 0.5], True, id="at-the-limit"),
        pytest.param([1.0, 0.49], False, id="below-the-limit"),
        pytest.param([nan, nan], False, id="nan"),
        pytest.param([], False, id="no-layer"),
    ],
)
@pytest.mark.parametrize("problem", [by_neurons, by_entries], ids=["neurons", "entries"])
def test_check(problem: DyingRelu, dead: list[float], expected: bool) -> None:
    assert bool(problem.check(history(dead, [0.5]))) is expected


def test_neurons_count_by_their_number_and_entries_by_theirs() -> None:
    shapes = {"0.weight": (9, 1), "1.weight": (1, 9), "1.bias": (1,)}
    made = History(Setup(shapes=shapes), accuracy=[0.5])
    rows = {
        "0.weight": {"dead_units": 1.0, "zeros": 1.0, "count": 9},
        "1.weight": {"dead_units": 0.0, "zeros": 0.5, "count": 9},
        "1.bias": {"zeros": 1.0, "count": 1},
    }
    made.add_table("gradient", rows)
    dead, zeros = by_neurons.check(made), by_entries.check(made)
    assert dead is not None
    assert dead.evidence["share"] == pytest.approx(9 / 10)
    assert zeros is not None  # 9 + 4.5 + 1 of 19: the bias counts as well
    assert zeros.evidence["share"] == pytest.approx(14.5 / 19)


def test_the_zeros_of_embeddings_do_not_count() -> None:
    for problem in (by_neurons, by_entries):
        assert problem.check(history([1.0, 0.6], [0.5], "Embedding")) is None


def test_the_checks_in_a_row() -> None:
    made = history([1.0, 1.0], [0.5])
    twice = replace(by_neurons, checks=2)
    assert twice.check(made) is None
    sick = made.tables("gradient", 1)[0]
    made.append(Vitals(step=4, tables=[replace(sick, step=4)]))
    assert twice.check(made) is not None


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [([0.7], True), ([0.71], False), ([nan], False), ([], False)],
    ids=["at-the-limit", "above-the-limit", "nan", "without-an-accuracy"],
)
def test_only_while_the_accuracy_is_low(accuracy: list[float], expected: bool) -> None:
    assert bool(by_neurons.check(history([1.0, 1.0], accuracy))) is expected


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([1.0, 0.5], [0.5])
    finding, other = by_neurons.check(made), by_entries.check(made)
    assert finding is not None
    assert other is not None
    assert (finding.problem, finding.step, finding.layers) == ("dying_relu", 3, ("0",))
    assert finding.message == "the gradients of 75 % of all neurons are exactly 0 (limit 75 %)"
    assert other.message == "75 % of all gradient entries are exactly 0 (limit 75 %)"
