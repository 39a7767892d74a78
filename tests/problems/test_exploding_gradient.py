from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import ExplodingGradient
from sickbay.vitals import Setup, Table, Vitals


def weighed(gradient: float, weight: float, update: float, step: int = 0) -> History:
    made = History(loss=[1.0])
    rows = {"a.weight": {"norm": gradient}, "b.weight": {"norm": 1.0}, "b.bias": {"norm": 1e9}}
    sizes = {
        "a.weight": {"norm": weight, "update_ratio": update},
        "b.weight": {"norm": 1.0, "update_ratio": 0.01},
        "b.bias": {"norm": 1e-9, "update_ratio": 50.0},
    }
    made.setup = Setup(shapes={"a.weight": (2, 2), "b.weight": (2, 2), "b.bias": (2,)})
    tables = [Table.of("gradient", 0, rows), Table.of("weight", step, sizes)]
    made.append(Vitals(step=step, tables=tables))
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(weighed(101.0, 1.0, 11.0), True, id="far-too-large"),
        pytest.param(weighed(100.0, 1.0, 11.0), False, id="at-the-limit"),
        pytest.param(weighed(101e-6, 1e-6, 11.0), True, id="any-scale"),
        pytest.param(weighed(1e9, 1.0, 1.0), False, id="the-step-is-small-all-the-same"),
        pytest.param(weighed(1e9, 1.0, 2.0, step=1), False, id="of-different-steps"),
        pytest.param(weighed(nan, 1.0, 2.0), False, id="nan"),
        pytest.param(weighed(inf, 1.0, inf), True, id="overflow"),
    ],
)
def test_gradients_against_weights(made: History, expected: bool) -> None:
    assert bool(ExplodingGradient(relative=100).check(made)) is expected


@pytest.mark.parametrize(
    ("update", "loss", "expected"),
    [
        pytest.param(1.9, 1.0, False, id="the-loss-has-not-risen"),
        pytest.param(2.0, 1.0, True, id="most-kernels-are-thrown"),
        pytest.param(1.1, 1.1, True, id="the-loss-has-risen"),
        pytest.param(1.0, 1.1, False, id="at-the-limit"),
        pytest.param(1.9, 0.1, False, id="the-loss-falls"),
        pytest.param(1.9, nan, True, id="nan"),
    ],
)
def test_a_step_that_is_survived(update: float, loss: float, expected: bool) -> None:
    made = weighed(1e9, 1.0, update)
    made.append(Vitals(step=0, scalars={"loss": loss}))
    assert bool(ExplodingGradient().check(made)) is expected


def test_the_only_kernel_has_to_grow() -> None:
    made = History(loss=[1.0])
    made.add_table("gradient", {"weight": {"norm": 9e5}})
    made.add_table("weight", {"weight": {"norm": 1.0, "update_ratio": 90.0}})
    assert ExplodingGradient().check(made) is None
    made.append(Vitals(step=0, scalars={"loss": 2.0}))
    assert ExplodingGradient().check(made) is not None


def test_the_finding_names_the_worst_layer() -> None:
    finding = ExplodingGradient(relative=100).check(weighed(600.0, 2.0, 30.0))
    assert finding is not None
    assert (finding.layers, finding.evidence) == (("a",), {"relative": 300.0})
    assert finding.message == "the gradient is 3e+02 times as large as the weight (limit 100)"


@pytest.mark.parametrize(
    ("raw", "used", "loss", "expected"),
    [
        pytest.param(65.0, 1.0, 1.0, True, id="clipped-far"),
        pytest.param(63.0, 1.0, 1.0, False, id="below-the-limit"),
        pytest.param(65.0, 0.1, 1.0, False, id="clipped-to-almost-nothing"),
        pytest.param(65.0, 1.0, 0.5, False, id="learns-all-the-same"),
    ],
)
def test_what_clipping_hides(raw: float, used: float, loss: float, expected: bool) -> None:
    problem = ExplodingGradient(factor=64, norm=0.2, checks=3, loss_drop=0.25, after=40)
    made = History(loss=[1.0, *39 * [loss]])
    for step in range(38, 41):
        assert problem.check(made) is None
        made.add_table("raw_gradient", {"a.weight": {"norm": raw}}, step)
        made.add_table("gradient", {"a.weight": {"norm": used}}, step)
    finding = problem.check(made)
    assert bool(finding) is expected
    assert finding is None or finding.message == (
        "gradient norm 65, more than 64 times as large as the 1 that it is clipped to, "
        "step after step"
    )


def test_steps_of_adam_do_not_depend_on_the_norm() -> None:
    problem = ExplodingGradient(factor=64, norm=0.2, checks=3, loss_drop=0.25, after=40)
    for optimizer, expected in (("SGD", True), ("Adam", False)):
        made = History(Setup(optimizer=optimizer, settings={"eps": 1e-8}), loss=41 * [1.0])
        for step in range(38, 41):
            made.add_table("raw_gradient", {"a.weight": {"norm": 65.0}}, step)
            made.add_table("gradient", {"a.weight": {"norm": 1.0}}, step)
        assert bool(problem.check(made)) is expected


def test_gradients_that_clipping_tames_at_the_start() -> None:
    problem = ExplodingGradient(factor=64, norm=0.2, checks=3, after=40)
    made = History(loss=40 * [1.0])
    for step in range(37, 40):
        made.add_table("raw_gradient", {"a.weight": {"norm": 65.0}}, step)
        made.add_table("gradient", {"a.weight": {"norm": 1.0}}, step)
    assert problem.check(made) is None
