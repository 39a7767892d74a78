from math import inf, nan

import numpy as np
import pytest

from sickbay.history import History
from sickbay.table_means import MOST, TableMeans
from sickbay.vitals import Kind, Table, Vitals


def table(step: int, kind: Kind = "gradient", /, **shares: float) -> Table:
    return Table.of(kind, step, {name: {"zeros": share} for name, share in shares.items()})


def mean(*tables: Table) -> dict[str, float]:
    means = TableMeans()
    for each in tables:
        means.add(each)
    means.end_epoch()
    made = means.newest("gradient")
    assert made is not None
    return dict(zip(made.names, made.column("zeros").tolist(), strict=True))


@pytest.mark.parametrize("count", [1, MOST - 1, MOST, MOST + 1, 3 * MOST + 5])
def test_the_mean_of_any_number_of_tables(count: int) -> None:
    norms = np.random.default_rng(count).uniform(size=count)
    made = mean(*(table(step, a=norm, b=2 * norm) for step, norm in enumerate(norms)))
    assert made == pytest.approx({"a": norms.mean(), "b": 2 * norms.mean()})


def test_what_was_not_measured_does_not_count() -> None:
    assert mean(table(0, a=1.0), table(1, a=nan), table(2, a=3.0)) == {"a": 2.0}
    assert np.isnan(mean(table(0, a=nan))["a"])


def test_rows_that_come_and_go_keep_the_forward_order() -> None:
    made = mean(table(0, b=2.0), table(1, a=1.0, b=4.0, c=5.0), table(2, c=7.0))
    assert list(made.items()) == [("a", 1.0), ("b", 3.0), ("c", 6.0)]


def test_extreme_values_raise_no_warning() -> None:
    assert mean(table(0, a=1e308), table(1, a=1e308))["a"] == inf
    assert np.isnan(mean(table(0, a=inf), table(1, a=-inf))["a"])


def test_each_epoch_starts_anew_and_a_silent_one_keeps_the_last_mean() -> None:
    history = History()
    assert history.epoch_mean("gradient") is None
    for step, norm in enumerate([1.0, 3.0]):
        history.append(Vitals(step, tables=[table(step, a=norm)]))
    assert history.epoch_mean("gradient") is None
    history.end_epoch()
    history.end_epoch()
    newest = history.epoch_mean("gradient")
    assert newest is not None
    assert (newest.column("zeros").tolist(), newest.step) == ([2.0], 1)
    history.append(Vitals(2, tables=[table(2, a=9.0)]))
    history.end_epoch()
    newest = history.epoch_mean("gradient")
    assert newest is not None
    assert newest.column("zeros").tolist() == [9.0]


def test_what_no_problem_asks_for_is_not_averaged() -> None:
    means = TableMeans()
    rows = {"a": {"norm": 1.0, "absmax": 1.0, "mean_abs": 1.0, "zeros": 1.0, "nonfinite": 1.0}}
    means.add(Table.of("gradient", 0, rows))
    means.end_epoch()
    made = means.newest("gradient")
    assert made is not None
    known = {name for name, value in made.row("a").items() if value == 1}
    assert known == {"absmax", "mean_abs", "zeros", "nonfinite"}


def test_only_gradients_and_layer_outputs_are_averaged() -> None:
    history = History()
    for kind in ("gradient", "activation", "weight", "batch", "raw_gradient"):
        history.append(Vitals(0, tables=[table(0, kind, a=1.0)]))
    history.end_epoch()
    assert history.epoch_mean("activation") is not None
    assert history.epoch_mean("weight") is None


def test_memory_does_not_grow_with_the_epoch() -> None:
    means = TableMeans()
    for step in range(10 * MOST):
        means.add(table(step, a=1.0))
    assert len(means._waiting["gradient"]) < MOST


def test_many_readings_at_once_are_the_same_as_one_by_one() -> None:
    tables = [table(step, a=0.1 * step) for step in range(2 * MOST + 3)]
    one, many = History(), History()
    for each in tables:
        one.append(Vitals(each.step, tables=[each]))
    many.extend(tables[-1].step, 0, {}, tables)
    for history in (one, many):
        history.end_epoch()
    means = [each.epoch_mean("gradient") for each in (one, many)]
    assert means[0] is not None
    assert means[1] is not None
    assert means[0].values.tobytes() == means[1].values.tobytes()
