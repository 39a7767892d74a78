from collections.abc import Mapping
from math import inf, nan

import pytest

from sickbay.history import History
from sickbay.problems import NonFinite
from sickbay.vitals import Kind, Table, Vitals

problem = NonFinite()
Rows = Mapping[str, float]
FINE: Rows = {"a.weight": 0, "b.weight": 0, "c.weight": 0}
SICK: Rows = {"a.weight": 0, "b.weight": 3, "c.weight": 0}


def table(kind: Kind, step: int, counts: Rows) -> Table:
    return Table.of(kind, step, {name: {"nonfinite": count} for name, count in counts.items()})


def history(*tables: Table, loss: float = 1.0, grad_norm: float = 1.0) -> History:
    made = History(loss=[loss], grad_norm=[grad_norm])
    for each in tables:
        made.append(Vitals(step=each.step, tables=[each]))
    return made


@pytest.mark.parametrize("kind", ["weight", "activation", "gradient", "raw_gradient"])
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(SICK, True, id="some"),
        pytest.param({"a.weight": 1}, True, id="at-the-limit"),
        pytest.param(FINE, False, id="none"),
        pytest.param({"a.weight": nan}, False, id="not-measured"),
        pytest.param({"a.weight": nan, "b.weight": 1}, True, id="measured-in-part"),
        pytest.param({}, False, id="empty"),
    ],
)
def test_tables(kind: Kind, counts: Rows, expected: bool) -> None:
    assert bool(problem.check(history(table(kind, 0, counts)))) is expected
    newer = table(kind, 1, FINE)
    assert problem.check(history(table(kind, 0, counts), newer)) is None


@pytest.mark.parametrize(
    ("loss", "grad_norm", "message"),
    [
        pytest.param(nan, 1.0, "loss is nan", id="loss-nan"),
        pytest.param(inf, 1.0, "loss is inf", id="loss-inf"),
        pytest.param(-inf, 1.0, "loss is -inf", id="loss-minus-inf"),
        pytest.param(1.0, nan, "grad_norm is nan", id="norm-nan"),
        pytest.param(nan, nan, "loss is nan", id="loss-before-norm"),
        pytest.param(1.0, 1.0, None, id="finite"),
        pytest.param(1e308, 0.0, None, id="large"),
    ],
)
def test_scalars(loss: float, grad_norm: float, message: str | None) -> None:
    finding = problem.check(history(loss=loss, grad_norm=grad_norm))
    assert (finding and finding.message) == message


def test_only_the_newest_scalar_counts() -> None:
    assert problem.check(History(loss=[nan, 1.0])) is None
    assert problem.check(History(loss=[1.0, nan])) is not None
    assert problem.check(History()) is None


@pytest.mark.parametrize(
    ("tables", "scalars", "origin"),
    [
        pytest.param([("gradient", 4), ("weight", 4)], {}, "weight of b", id="weight-first"),
        pytest.param([("weight", 4), ("activation", 4)], {}, "weight of b", id="in-any-order"),
        pytest.param([("activation", 4)], {"loss": nan}, "activation of b", id="then-activation"),
        pytest.param([("raw_gradient", 4)], {"loss": nan}, "loss is nan", id="then-loss"),
        pytest.param([("raw_gradient", 4), ("gradient", 4)], {}, "gradient of b", id="then-raw"),
        pytest.param([("gradient", 4)], {"grad_norm": inf}, "gradient of b", id="then-gradient"),
        pytest.param([], {"grad_norm": inf}, "grad_norm is inf", id="then-norm"),
        pytest.param([("gradient", 3)], {"loss": nan}, "gradient of b", id="earlier-than-loss"),
        pytest.param([("weight", 5)], {"loss": nan}, "loss is nan", id="loss-earlier"),
    ],
)
def test_the_likeliest_origin_is_named(
    tables: list[tuple[Kind, int]], scalars: dict[str, float], origin: str
) -> None:
    made = history(*(table(kind, step, SICK) for kind, step in tables))
    made.append(Vitals(step=4, scalars=scalars))
    finding = problem.check(made)
    assert finding is not None
    assert finding.message.startswith(origin)
    assert finding.step == min([step for _, step in tables] + [4] * bool(scalars))


@pytest.mark.parametrize(
    ("step", "name", "expected"),
    [
        pytest.param(4, "loss", "loss is nan", id="same-step"),
        pytest.param(3, "loss", "loss is nan", id="other-step"),
        pytest.param(4, "grad_norm", "grad_norm is nan", id="other-scalar"),
    ],
)
def test_a_loss_that_is_nan_by_itself(step: int, name: str, expected: str) -> None:
    made = history(table("activation", step, FINE))
    made.append(Vitals(step=4, scalars={name: nan}))
    finding = problem.check(made)
    assert finding is not None
    assert finding.message == expected


def test_what_backward_left_is_named_before_what_clipping_spread() -> None:
    everywhere = {"a.weight": 9.0, "b.weight": 9.0, "c.weight": 9.0}
    made = history(table("gradient", 4, everywhere), table("raw_gradient", 4, SICK))
    finding = problem.check(made)
    assert finding is not None
    assert finding.layers == ("b",)


@pytest.mark.parametrize(
    ("kind", "counts", "message", "layers"),
    [
        pytest.param(
            "gradient", SICK, "gradient of b.weight has 3 NaN or Inf", ("b",), id="one-of-several"
        ),
        pytest.param(
            "activation", {"": 2}, "activation of (model) has 2 NaN or Inf", ("",), id="model"
        ),
        pytest.param(
            "weight",
            {"a.weight": 5, "b.weight": 0, "b.bias": 1, "c.weight": nan, "d.weight": 2},
            "weight of a.weight has 5 NaN or Inf, and so have 2 of 4 others",
            ("a", "b", "d"),
            id="several",
        ),
        pytest.param(
            "raw_gradient",
            {"a.weight": 1, "a.bias": 1, "b.weight": 7},
            "gradient of a.weight has 1 NaN or Inf, and so have 2 of 2 others",
            ("a", "b"),
            id="all",
        ),
    ],
)
def test_the_finding_names_the_layers_in_order_and_the_numbers(
    kind: Kind, counts: Rows, message: str, layers: tuple[str, ...]
) -> None:
    made = history(table(kind, 7, counts))
    made.append(Vitals(step=9, epoch=2))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("non_finite", "critical")
    assert (finding.step, finding.epoch) == (7, 2)
    assert (finding.message, finding.layers) == (message, layers)
    assert finding.evidence == {"tensors": sum(count > 0 for count in counts.values())}


def test_the_finding_of_a_scalar_names_its_step_and_value() -> None:
    made = History(loss=[1.0, inf])
    made.append(Vitals(step=9, scalars={"grad_norm": 1.0}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.step, finding.evidence, finding.layers) == (1, {"value": inf}, ())


def test_what_was_read_long_ago_does_not_count() -> None:
    made = history(table("activation", 2, SICK), table("gradient", 3, FINE))
    assert problem.check(made) is None
    made = history(table("activation", 2, SICK))
    made.append(Vitals(step=3, scalars={"grad_norm": 1.0}))
    assert problem.check(made) is None


def test_it_leaves_no_damage_when_it_is_gone() -> None:
    finding = problem.check(history(table("gradient", 0, SICK)))
    assert finding is not None
    assert not problem.lasts(finding)


@pytest.mark.parametrize(("bad_outputs", "expected"), [(0, False), (1, True)])
def test_inputs_that_the_model_fills_in(bad_outputs: float, expected: bool) -> None:
    rows = {"input": 3.0, "output": bad_outputs, "target": 0.0}
    assert bool(problem.check(history(table("batch", 0, rows)))) is expected


def test_of_large_outputs_only_the_first_are_known() -> None:
    finding = problem.check(
        history(
            table("batch", 0, {"input": 1.0, "output": 0.0}),
            table("activation", 0, {"a": 2048.0}),
            loss=nan,
        )
    )
    assert finding is not None
    assert finding.message == "input of the model has 1 NaN or Inf"
