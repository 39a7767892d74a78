from collections.abc import Sequence
from math import nan

import pytest

from sickbay.history import History
from sickbay.problems import LowActivation
from sickbay.vitals import Setup, Table, Vitals

HEALTHY, SICK = [0.1, 0.1, 0.1], [0.9, 0.75, 0.5]
SETUP = Setup(shapes={"bias": (4,)}, layers={"words": "Embedding"})
problem = LowActivation()


def history(
    *readings: Sequence[float],
    lost: float = 0,
    setup: Setup = SETUP,
    finished: int = 5,
    others: Sequence[str] = (),
) -> History:
    made = History(setup)
    for step, zeros in enumerate(readings):
        rows = {f"{index}.weight": {"zeros": share} for index, share in enumerate(zeros)}
        rows |= {name: {"zeros": 1.0} for name in others}
        for row in rows.values():
            row["nonfinite"] = lost
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    for _ in range(finished):
        made.end_epoch(loss=1.0)
    return made


@pytest.mark.parametrize(
    ("zeros", "expected"),
    [
        pytest.param(SICK, True, id="low"),
        pytest.param([0.5] * 3, False, id="at-the-limit"),
        pytest.param([0.5000001] * 3, True, id="above-the-limit"),
        pytest.param([1.0, 0.4, 0.4], False, id="in-one-layer"),
        pytest.param([1.0, 0.2], True, id="median-of-two"),
        pytest.param([0.9, 0.1], False, id="median-of-two-at-the-limit"),
        pytest.param([1.0], True, id="one-layer"),
        pytest.param([nan, nan], False, id="nan"),
        pytest.param([nan, 0.9, 0.8], True, id="nan-in-one-layer"),
        pytest.param([], False, id="no-layer"),
    ],
)
def test_check(zeros: list[float], expected: bool) -> None:
    assert bool(problem.check(history(zeros))) is expected


@pytest.mark.parametrize(
    ("finished", "expected"),
    [
        pytest.param(4, False, id="too-early"),
        pytest.param(5, True, id="at-the-limit"),
        pytest.param(19, True, id="late-stage"),
    ],
)
@pytest.mark.parametrize("epochs", [None, 20])
def test_judged_from_the_fifth_epoch_on(epochs: int | None, finished: int, expected: bool) -> None:
    made = history(SICK, setup=Setup(epochs=epochs), finished=finished)
    assert bool(problem.check(made)) is expected


def test_the_number_of_weights_does_not_count() -> None:
    made = History()
    counts = {"a": (1.0, 9e9), "b": (0.1, 4.0), "c": (0.1, 4.0)}
    rows = {f"{name}.weight": {"zeros": z, "count": n} for name, (z, n) in counts.items()}
    made.append(Vitals(step=0, tables=[Table.of("gradient", 0, rows)]))
    made.end_epoch(loss=1.0)
    assert LowActivation(epochs=0).check(made) is None
    assert LowActivation(epochs=0, share=0.05).check(made) is not None


def test_the_mean_of_the_epoch_counts() -> None:
    assert problem.check(history()) is None
    assert problem.check(history(SICK, HEALTHY)) is None
    assert problem.check(history(HEALTHY, SICK)) is None
    assert problem.check(history(HEALTHY, SICK, SICK, SICK)) is not None


def test_what_is_not_finite_is_left_to_another() -> None:
    assert problem.check(history(SICK, lost=1)) is None


def test_biases_and_embeddings_are_left_out() -> None:
    assert problem.check(history([0.1], others=["bias", "words.weight"])) is None


def test_a_trial_among_the_best_is_protected_from_it() -> None:
    assert LowActivation.yields_to_the_best
    assert LowActivation.protection_lasts


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    finding = problem.check(history(SICK, SICK))
    assert finding is not None
    assert (finding.problem, finding.severity) == ("low_activation", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (1, 5, ("0", "1"))
    assert finding.evidence == {"median": 0.75}
    assert finding.message == "75 % of the gradient is exactly 0 in the median layer (limit 50 %)"
