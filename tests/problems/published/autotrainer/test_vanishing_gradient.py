from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems.published.autotrainer import VanishingGradient
from sickbay.vitals import Table, Vitals

RATIO, NORM = 2.0**-10, 2.0**-13
SICK = [2.0**-20, 0.1, 0.5]
MORE = 1 + 1e-9
problem = VanishingGradient(ratio=RATIO, norm=NORM)


def history(norms: list[float], accuracy: list[float]) -> History:
    made = History(accuracy=accuracy, output_spread=[1.0])
    rows = {f"{index}.weight": {"norm": norm} for index, norm in enumerate(norms)}
    made.append(Vitals(step=3, tables=[Table.of("gradient", 3, rows)]))
    return made


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        pytest.param(SICK, True, id="vanishing"),
        pytest.param([0.0, 1.0], True, id="nothing-arrives"),
        pytest.param([2.0**-14, 2.0**-4], True, id="at-the-limit-of-the-ratio"),
        pytest.param([2.0**-14 * MORE, 2.0**-4], False, id="above-the-limit-of-the-ratio"),
        pytest.param([NORM, 1.0], True, id="at-the-limit-of-the-norm"),
        pytest.param([NORM * MORE, 1.0], False, id="above-the-limit-of-the-norm"),
        pytest.param([1e-9, 1e-9], False, id="small-everywhere"),
        pytest.param([1e-9, 0.0], False, id="nothing-at-the-end"),
        pytest.param([nan, 1.0], False, id="nan"),
        pytest.param([1e-9, inf], True, id="inf"),
        pytest.param([1e-9], False, id="one-layer"),
    ],
)
def test_check(norms: list[float], expected: bool) -> None:
    assert bool(problem.check(history(norms, [0.5]))) is expected


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [([0.7], True), ([0.71], False), ([nan], False), ([], False)],
    ids=["at-the-limit", "above-the-limit", "nan", "without-an-accuracy"],
)
def test_only_while_the_accuracy_is_low(accuracy: list[float], expected: bool) -> None:
    assert bool(problem.check(history(SICK, accuracy))) is expected


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    finding = VanishingGradient().check(history([2e-6, 4e-6, 0.5], [0.5]))
    assert finding is not None
    assert (finding.problem, finding.step, finding.layers) == ("vanishing_gradient", 3, ("0", "1"))
    assert finding.message == "gradient norm 2e-06 (limit 0.0001), first/last 4e-06 (limit 0.001)"
