from collections.abc import Sequence

import pytest

from sickbay.history import History
from sickbay.problems import FrozenByAccident
from sickbay.readings import Setup, Table, Vitals

problem = FrozenByAccident(checks=2)
KERNELS = ("a.weight", "b.weight", "c.weight")
SHAPES = {**dict.fromkeys(KERNELS, (4, 4)), "b.bias": (4,), "n.weight": (4,)}


def history(
    readings: Sequence[Sequence[str]] = (),
    *,
    unheld: tuple[str, ...] = (),
    uncalled: tuple[str, ...] = (),
) -> History:
    made = History(Setup(shapes=SHAPES, unheld=unheld, uncalled=uncalled), loss=[1.0])
    for step, names in enumerate(readings):
        rows = {name: {"norm": 1.0} for name in names}
        made.append(Vitals(step=step, tables=[Table.of("gradient", step, rows)]))
    return made


@pytest.mark.parametrize(
    ("unheld", "uncalled", "expected"),
    [
        pytest.param((), (), (), id="all-held"),
        pytest.param(("b.weight",), (), ("b",), id="in-the-middle"),
        pytest.param(("c.weight",), (), ("c",), id="at-the-end"),
        pytest.param(("b.weight", "c.weight"), (), ("b", "c"), id="all-but-the-first"),
        pytest.param(("a.weight", "c.weight"), (), ("a", "c"), id="all-but-the-middle"),
        pytest.param(("a.weight",), (), ("a",), id="at-the-start"),
        pytest.param(("a.weight", "b.weight"), (), (), id="all-but-the-head"),
        pytest.param(("b.bias", "n.weight"), (), (), id="no-kernel"),
        pytest.param(KERNELS, (), (), id="none-held"),
        pytest.param(("c.weight",), ("c",), (), id="not-called"),
        pytest.param(("b.weight", "c.weight"), ("c",), ("b",), id="one-of-them-not-called"),
    ],
)
def test_missing_in_the_optimizer(
    unheld: tuple[str, ...], uncalled: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    finding = problem.check(history(unheld=unheld, uncalled=uncalled))
    assert (finding.layers if finding else ()) == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        pytest.param([7], False, id="one"),
        pytest.param([6, 7], False, id="a-quarter"),
        pytest.param([5, 6, 7], True, id="more-than-a-quarter"),
        pytest.param([0, 1], True, id="not-at-the-end"),
        pytest.param([5, 7], True, id="with-a-gap"),
    ],
)
def test_fine_tuning_a_head(held: list[int], expected: bool) -> None:
    names = [f"{index}.weight" for index in range(8)]
    unheld = tuple(name for index, name in enumerate(names) if index not in held)
    made = History(Setup(shapes=dict.fromkeys(names, (4, 4)), unheld=unheld), loss=[1.0])
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("readings", "unheld", "uncalled", "expected"),
    [
        pytest.param([KERNELS] * 2, (), (), (), id="all-reached"),
        pytest.param([KERNELS[1:]] * 2, (), (), ("a",), id="the-first-not-reached"),
        pytest.param([KERNELS[:1]] * 2, (), (), ("b", "c"), id="only-the-first-reached"),
        pytest.param([KERNELS[1:]], (), (), (), id="too-early"),
        pytest.param([], (), (), (), id="no-reading"),
        pytest.param([KERNELS, KERNELS[1:]], (), (), (), id="reached-before"),
        pytest.param([KERNELS[1:], KERNELS], (), (), (), id="reached-now"),
        pytest.param(
            [KERNELS, *[KERNELS[1:]] * 2], (), (), ("a",), id="forgets-what-left-the-window"
        ),
        pytest.param([()] * 2, (), (), (), id="nothing-reached"),
        pytest.param([KERNELS[1:]] * 2, (), ("a",), (), id="not-called"),
        pytest.param([KERNELS[2:]] * 2, KERNELS[:2], (), (), id="frozen-on-purpose"),
        pytest.param([KERNELS] * 2, ("b.bias",), (), (), id="a-bias-not-reached"),
    ],
)
def test_no_gradient(
    readings: list[tuple[str, ...]],
    unheld: tuple[str, ...],
    uncalled: tuple[str, ...],
    expected: tuple[str, ...],
) -> None:
    finding = problem.check(history(readings, unheld=unheld, uncalled=uncalled))
    assert (finding.layers if finding else ()) == expected


def test_layers_that_the_model_does_not_hold() -> None:
    finding = problem.check(History(Setup(shapes=SHAPES, strays=3), loss=[1.0]))
    assert finding is not None
    assert finding.layers == ()
    assert finding.message == (
        "layers in use that the model does not hold: 3, so model.parameters() leaves them out"
    )


def test_nothing_is_known_about_the_model() -> None:
    assert problem.check(History()) is None


def test_the_finding_names_the_step_the_layers_and_the_numbers() -> None:
    made = history([KERNELS[2:]] * 2)
    made.append(Vitals(step=9, epoch=2, scalars={"loss": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("frozen_by_accident", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (9, 2, ("a", "b"))
    assert finding.message == "2 of 3 kernels get no gradient"
    finding = problem.check(history(unheld=("b.weight", "c.weight")))
    assert finding is not None
    assert finding.message == "2 of 3 kernels are missing in the optimizer"
