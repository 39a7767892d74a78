from collections.abc import Sequence
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import LearningRateTooHigh
from sickbay.vitals import Setup, Table, Vitals

SICK, HEALTHY = [0.5, 0.75, 1.0], [1e-3, 2e-3, 3e-3]
RISING = (1.0, *[2.0] * 10)
problem = LearningRateTooHigh(ratio=0.25, loss=1.5, checks=2, jump=4)


def history(
    readings: Sequence[Sequence[float]],
    *,
    loss: Sequence[float] = RISING,
    gradients: Sequence[float] = (),
    setup: Setup | None = None,
) -> History:
    made = History(setup, loss=loss)
    for step, ratios in enumerate(readings):
        names = [f"{name}.weight" for name, _ in zip("abcd", ratios, strict=False)]
        rows = {
            name: {"update_ratio": ratio, "norm": 1.0}
            for name, ratio in zip(names, ratios, strict=True)
        }
        tables = [Table.of("weight", step, rows)]
        if gradients:
            norms = {name: {"norm": each} for name, each in zip(names, gradients, strict=True)}
            tables.append(Table.of("gradient", step, norms))
        made.append(Vitals(step=step, tables=tables))
    return made


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([SICK] * 2, True, id="large-steps"),
        pytest.param([[0.1, 0.25, 3.0]] * 2, False, id="at-the-limit"),
        pytest.param([[0.1, 0.2501, 3.0]] * 2, True, id="above-the-limit"),
        pytest.param([[0.2, 0.3]] * 2, False, id="two-at-the-limit"),
        pytest.param([[0.2, 0.31]] * 2, True, id="two-above-the-limit"),
        pytest.param([SICK], False, id="too-early"),
        pytest.param([], False, id="no-reading"),
        pytest.param([HEALTHY, SICK], False, id="only-since-now"),
        pytest.param([SICK, HEALTHY], False, id="no-more"),
        pytest.param([HEALTHY, SICK, SICK], True, id="forgets-what-left-the-window"),
        pytest.param([[0.0, 0.0]] * 2, False, id="none-changes"),
        pytest.param([[nan, 0.5, 0.5]] * 2, True, id="nan-beside"),
        pytest.param([[nan, nan]] * 2, False, id="nan"),
        pytest.param([[]] * 2, False, id="no-layer"),
    ],
)
def test_check(readings: list[list[float]], expected: bool) -> None:
    assert bool(problem.check(history(readings))) is expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param([1.0, *[1.5] * 10], False, id="at-the-limit"),
        pytest.param([1.0, *[1.51] * 10], True, id="above-the-limit"),
        pytest.param([2.0**-30, *[2.0**-30 * 1.51] * 10], True, id="any-scale-small"),
        pytest.param([2.0**30, *[2.0**30 * 1.5] * 10], False, id="any-scale-large"),
        pytest.param([1.0, *[0.1] * 10], False, id="fell"),
        pytest.param([1.0, *[1.0] * 9, 9.0], True, id="mean-of-the-last"),
        pytest.param([1.0, 99.0, *[1.0] * 10], False, id="rose-long-ago"),
        pytest.param([1.0, nan], False, id="nan"),
        pytest.param([nan, 1.0, *[2.0] * 10], True, id="nan-at-first"),
        pytest.param([-1.0, *[2.0] * 10], False, id="negative-at-first"),
        pytest.param([0.0, *[2.0] * 10], False, id="zero-at-first"),
        pytest.param([], False, id="none"),
    ],
)
def test_only_while_the_loss_is_above_its_first(loss: list[float], expected: bool) -> None:
    assert bool(problem.check(history([SICK] * 2, loss=loss))) is expected


@pytest.mark.parametrize(
    ("ratios", "gradients", "expected"),
    [
        pytest.param([0.0, 4.0, 0.0], [], False, id="at-the-limit"),
        pytest.param([0.0, 4.01, 0.0], [], True, id="above-the-limit"),
        pytest.param([0.0, 4.01, nan], [], True, id="nan-beside"),
        pytest.param([0.0, inf, 0.0], [], False, id="inf-is-for-non-finite"),
        pytest.param([0.0, 9.0], [100.0, 1.0], True, id="gradients-at-the-limit"),
        pytest.param([0.0, 9.0], [100.1, 1.0], False, id="huge-gradients"),
        pytest.param([0.0, 9.0], [nan, nan], True, id="nan-gradients"),
        pytest.param([], [], False, id="no-layer"),
    ],
)
def test_one_jump_is_enough(ratios: list[float], gradients: list[float], expected: bool) -> None:
    made = history([ratios], gradients=gradients, loss=[1.0, 0.1])
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(("norm", "expected"), [(200.0, True), (201.0, False)])
def test_gradients_are_huge_against_their_weights(norm: float, expected: bool) -> None:
    made = History(loss=[1.0])
    weight = Table.of("weight", 0, {"a.weight": {"norm": 2.0, "update_ratio": 9.0}})
    gradient = Table.of("gradient", 0, {"a.weight": {"norm": norm}})
    made.append(Vitals(step=0, tables=[weight, gradient]))
    assert bool(problem.check(made)) is expected


def test_a_jump_counts_only_now() -> None:
    assert problem.check(history([[9.0, 9.0], HEALTHY[:2]], loss=[1.0])) is None


def test_gradients_of_other_layers_do_not_count() -> None:
    made = history([[0.0, 9.0]], loss=[1.0])
    table = Table.of("gradient", 0, {"z.weight": {"norm": 1e9}})
    made.append(Vitals(step=0, tables=[table]))
    assert problem.check(made) is not None


def test_biases_and_embeddings_are_left_out() -> None:
    shapes = {"a.weight": (4,), "b.weight": (9, 4), "c.weight": (4, 4), "d.weight": (4, 4)}
    setup = Setup(shapes=shapes, layers={"b": "Embedding"})
    assert problem.check(history([[9.0, 9.0, 0.2, 0.2]] * 2, setup=setup)) is None
    assert problem.check(history([[0.0, 0.0, 0.3, 0.3]] * 2, setup=setup)) is not None


def test_the_finding_names_the_step_and_the_numbers() -> None:
    made = history([[0.75, 1.0, 1.25], SICK])
    made.append(Vitals(step=20, epoch=2, scalars={"loss": 2.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("learning_rate_too_high", "warning")
    assert (finding.step, finding.epoch, finding.layers) == (1, 2, ())
    assert finding.evidence == {"ratio": 0.75, "loss": 2.0, "first": 1.0}
    assert finding.message == (
        "a step changes the weights by 75 % of their size (limit 25 %), loss 2, initially 1"
    )


def test_the_finding_of_a_jump_names_the_step_and_the_numbers() -> None:
    finding = problem.check(history([HEALTHY, [0.5, 8.0, 0.25]], loss=[1.0]))
    assert finding is not None
    assert (finding.step, finding.evidence) == (1, {"ratio": 8.0})
    assert finding.message == "a step changes weights by 8 times their size (limit 4)"


@pytest.mark.parametrize(
    ("rates", "ratios", "expected"),
    [
        pytest.param([1.0, 1.0, 50.0], SICK, True, id="raised"),
        pytest.param([1.0, 1.0, 50.0], HEALTHY, False, id="harmless"),
        pytest.param([1.0, 1.0, 10.0], SICK, False, id="at-the-limit"),
        pytest.param([1.0, 50.0, 50.0], SICK, True, id="a-reading-ago"),
        pytest.param([1.0, 50.0, 50.0, 50.0], SICK, False, id="long-ago"),
        pytest.param([50.0, 1.0, 50.0], SICK, False, id="warm-restart"),
        pytest.param([0.0, 0.0, 50.0], SICK, False, id="from-zero"),
        pytest.param([nan, nan, 50.0], SICK, False, id="nan"),
        pytest.param([50.0], SICK, False, id="too-early"),
    ],
)
def test_a_raised_rate(rates: list[float], ratios: list[float], expected: bool) -> None:
    made = History(lr=rates, loss=[1.0] * len(rates))
    rows = {f"{name}.weight": {"update_ratio": ratio} for name, ratio in enumerate(ratios)}
    made.append(Vitals(step=len(rates) - 1, tables=[Table.of("weight", len(rates) - 1, rows)]))
    finding = LearningRateTooHigh(ratio=0.25, checks=2, raised=10).check(made)
    assert (finding is not None) is expected
    if finding is not None:
        assert finding.message == (
            "learning rate 50, previously at most 1; "
            "a step changes the weights by 75 % of their size"
        )
        assert finding.evidence == {"rate": 50.0, "before": 1.0}


@pytest.mark.parametrize(
    ("update", "expected"),
    [pytest.param(60.0, False, id="at-the-limit"), pytest.param(60.1, True, id="above")],
)
def test_an_optimizer_that_takes_twenty_steps_at_once(update: float, expected: bool) -> None:
    made = History(Setup(settings={"max_iter": 20.0}), loss=[1.0])
    made.add_table("weight", {"a.weight": {"update_ratio": update}, "b.weight": {}})
    assert bool(LearningRateTooHigh().check(made)) is expected


def test_at_a_usual_rate_it_is_no_cause_of_its_own() -> None:
    thrown = problem.check(history([SICK] * 2))
    assert thrown is not None
    assert not problem.stands_alone(thrown)
