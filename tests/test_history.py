from math import inf, isnan, nan

import pytest

from sickbay.history import History
from sickbay.vitals import Kind, Setup, Table, Vitals


def table(step: int, kind: Kind = "gradient") -> Table:
    return Table.of(kind, step, {"a.weight": {"norm": float(step)}})


def test_nothing_yet() -> None:
    history = History()
    assert (history.step, history.epoch, history.setup) == (-1, 0, Setup())
    assert history.recent("loss", 5) == history.epochs("loss") == []
    assert history.timed("loss", 5) == []
    assert history.tables("gradient", 5) == []
    assert history.table("gradient") is None
    assert isnan(history.latest("loss"))
    assert isnan(history.first("loss"))
    assert history.best("loss") == -inf
    assert history.scalars() == {}


def test_asking_for_what_is_not_there_adds_nothing() -> None:
    history = History(loss=[1.0])
    history.recent("lr", 1)
    history.epochs("lr")
    history.table("weight")
    history.end_epoch()
    assert history.scalars() == {"loss": 1.0}
    assert history.epochs("lr") == []


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(0, [], id="none"),
        pytest.param(1, [3.0], id="one"),
        pytest.param(2, [2.0, 3.0], id="some"),
        pytest.param(3, [1.0, 2.0, 3.0], id="all"),
        pytest.param(9, [1.0, 2.0, 3.0], id="more-than-all"),
    ],
)
def test_the_newest_oldest_first(count: int, expected: list[float]) -> None:
    history = History(loss=[1.0, 2.0, 3.0])
    for step in range(1, 4):
        history.append(Vitals(step=step, tables=[table(step)]))
    assert history.recent("loss", count) == expected
    assert [value for _, value in history.timed("loss", count)] == expected
    assert [each.step for each in history.tables("gradient", count)] == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(1, 5.0, id="one"),
        pytest.param(3, 4.0, id="the-median-of-some"),
        pytest.param(99, 3.5, id="of-fewer"),
    ],
)
def test_the_first_values(count: int, expected: float) -> None:
    assert History(loss=[nan, 5.0, 1.0, inf, 4.0, 3.0]).first("loss", count) == expected


def test_the_first_values_are_bounded() -> None:
    history = History(loss=range(100))
    assert len(history.totals.first["loss"]) == 32
    assert history.first("loss", 99) == 15.5


def test_windows_are_bounded() -> None:
    history = History(window=3, tables=2, loss=range(10))
    for step in range(10):
        history.append(Vitals(step=step, tables=[table(step), table(step, "weight")]))
    assert history.timed("loss", 99) == [(7, 7.0), (8, 8.0), (9, 9.0)]
    assert [each.step for each in history.tables("gradient", 99)] == [8, 9]
    assert [each.step for each in history.tables("weight", 99)] == [8, 9]
    assert history._steps["loss"].maxlen == 3
    assert history._tables["gradient"].maxlen == 2
    assert history.first("loss") == 0


def test_windows_are_bounded_unless_told_otherwise() -> None:
    history = History(loss=[1.0])
    history.append(Vitals(step=1, tables=[table(1)]))
    assert history._steps["loss"].maxlen == 512
    assert history._tables["gradient"].maxlen == 32


def test_each_kind_has_its_own_newest_table() -> None:
    history = History()
    history.append(Vitals(step=4, tables=[table(4), table(4, "weight")]))
    history.append(Vitals(step=5, tables=[table(5)]))
    newest, older = history.table("gradient"), history.table("weight")
    assert newest is not None
    assert older is not None
    assert (newest.step, older.step) == (5, 4)
    assert history.table("activation") is None


def test_the_step_is_the_newest_one() -> None:
    history = History()
    history.append(Vitals(step=7))
    assert history.step == 7
    history.append(Vitals(step=5, scalars={"loss": 1.0}))
    assert history.step == 7
    assert history.timed("loss", 1) == [(5, 1.0)]


def test_scalars_of_one_run_share_the_steps() -> None:
    history = History(loss=[1.0, 2.0], accuracy=[0.1, 0.2, 0.3])
    assert (history.step, history.latest("loss"), history.latest("accuracy")) == (2, 2.0, 0.3)
    assert history.scalars() == {"loss": 2.0, "accuracy": 0.3}


def test_the_epoch_is_counted_and_told() -> None:
    history = History()
    history.end_epoch()
    assert history.epoch == 1
    history.append(Vitals(step=0, epoch=5))
    assert history.epoch == 5
    history.end_epoch()
    assert history.epoch == 6


def test_an_epoch_keeps_the_mean_of_its_steps() -> None:
    history = History(window=1)
    for epoch, losses in enumerate([[1.0, 2.0, 6.0], [4.0]]):
        for loss in losses:
            history.append(Vitals(step=history.step + 1, epoch=epoch, scalars={"loss": loss}))
        history.end_epoch()
    history.end_epoch()
    assert history.epochs("loss") == [3.0, 4.0]


def test_a_metric_given_for_the_epoch_counts_instead_of_the_mean() -> None:
    history = History(loss=[1.0, 2.0], accuracy=[0.5])
    history.end_epoch(loss=7.0, val_loss=8.0)
    assert history.epochs("loss") == [7.0]
    assert history.epochs("val_loss") == [8.0]
    assert history.epochs("accuracy") == [0.5]
    assert history.recent("loss", 9) == [1.0, 2.0]


def test_nan_spoils_the_mean_of_its_epoch_only() -> None:
    history = History(loss=[1.0, nan])
    history.end_epoch()
    history.append(Vitals(step=2, scalars={"loss": 3.0}))
    history.end_epoch()
    first, second = history.epochs("loss")
    assert isnan(first)
    assert second == 3


@pytest.mark.parametrize(
    ("values", "first", "best"),
    [
        pytest.param([3.0, 9.0, 1.0], 3.0, 9.0, id="finite"),
        pytest.param([nan, 3.0, nan, 4.0], 3.0, 4.0, id="nan-at-first"),
        pytest.param([4.0, nan], 4.0, 4.0, id="nan-at-last"),
        pytest.param([inf, 3.0], 3.0, inf, id="inf"),
        pytest.param([-inf, -3.0, -5.0], -3.0, -3.0, id="negative"),
        pytest.param([nan, nan], nan, -inf, id="only-nan"),
    ],
)
def test_first_and_best_on_either_clock(values: list[float], first: float, best: float) -> None:
    by_step, by_epoch = History(window=1, accuracy=values), History()
    for value in values:
        by_epoch.end_epoch(accuracy=value)
    for history in (by_step, by_epoch):
        assert history.first("accuracy") == pytest.approx(first, nan_ok=True)
        assert history.best("accuracy") == best


def test_lists_handed_out_are_copies() -> None:
    history = History(loss=[1.0])
    history.end_epoch()
    history.append(Vitals(step=1, tables=[table(1)]))
    history.recent("loss", 1).clear()
    history.epochs("loss").clear()
    history.tables("gradient", 1).clear()
    assert history.recent("loss", 1) == history.epochs("loss") == [1.0]
    assert len(history.tables("gradient", 1)) == 1


@pytest.mark.parametrize(
    ("shape", "layer", "expected"),
    [
        pytest.param((), "Linear", False, id="scalar"),
        pytest.param((4,), "Linear", False, id="bias"),
        pytest.param((4, 1), "Linear", True, id="matrix"),
        pytest.param((4, 3, 2, 2), "Conv2d", True, id="convolution"),
        pytest.param((4, 3), "Embedding", False, id="embedding"),
        pytest.param((4, 3), "EmbeddingBag", False, id="bag"),
    ],
)
def test_kernels(shape: tuple[int, ...], layer: str, expected: bool) -> None:
    setup = Setup(shapes={"a.weight": shape, "b.bias": (3,)}, layers={"a": layer})
    rows = Table.of("gradient", 0, {"b.bias": {}, "a.weight": {}, "unknown.weight": {}})
    assert History(setup).kernels(rows) == ([1, 2] if expected else [2])


def test_kernels_follow_the_setup_and_the_rows() -> None:
    history = History()
    one, two = (Table.of("gradient", 0, {name: {} for name in names}) for names in ("a", "ab"))
    for size in (1, 2) * 20:
        history.setup = Setup()
        history.setup = Setup(shapes={"a": (3,) * size})
        assert history.kernels(one) == [0] * (size - 1)
        assert history.kernels(two) == [0, 1][2 - size :]
        assert history.kernels(one) == [0] * (size - 1)


def test_first_values_are_those_of_steps_where_there_are_any() -> None:
    history = History(loss=[3.0, 2.0])
    history.end_epoch(loss=9.0, val_loss=5.0)
    history.end_epoch(loss=9.0, val_loss=7.0)
    assert history.first("loss", 9) == 2.5
    assert history.first("val_loss", 9) == 6.0
