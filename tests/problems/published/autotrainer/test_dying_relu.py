from math import nan

import pytest

from sickbay.history import History
from sickbay.problems.published.autotrainer import DyingRelu
from sickbay.vitals import Setup, Table, Vitals

problem = DyingRelu(share=0.75)


def history(zeros: list[float], accuracy: list[float], kind: str = "Linear") -> History:
    made = History(Setup(layers={"0": kind, "1": "Linear"}), accuracy=accuracy)
    rows = {f"{index}.weight": {"zeros": each, "count": 8} for index, each in enumerate(zeros)}
    made.append(Vitals(step=3, tables=[Table.of("gradient", 3, rows)]))
    return made


@pytest.mark.parametrize(
    ("zeros", "expected"),
    [
        pytest.param([1.0, 0.5], True, id="at-the-limit"),
        pytest.param([1.0, 0.49], False, id="below-the-limit"),
        pytest.param([nan, nan], False, id="nan"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(zeros: list[float], expected: bool) -> None:
    assert bool(problem.check(history(zeros, [0.5]))) is expected


def test_the_zeros_of_embeddings_do_not_count() -> None:
    assert problem.check(history([1.0, 0.6], [0.5], "Embedding")) is None


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [([0.7], True), ([0.71], False), ([nan], False), ([], False)],
    ids=["at-the-limit", "above-the-limit", "nan", "without-an-accuracy"],
)
def test_only_while_the_accuracy_is_low(accuracy: list[float], expected: bool) -> None:
    assert bool(problem.check(history([1.0, 1.0], accuracy))) is expected


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    finding = problem.check(history([1.0, 0.5], [0.5]))
    assert finding is not None
    assert (finding.problem, finding.step, finding.layers) == ("dying_relu", 3, ("0",))
    assert finding.message == "75 % of all gradient entries are exactly 0 (limit 75 %)"
