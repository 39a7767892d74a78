from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from sickbay.tuning.pool import Pool, load, save
from sickbay.tuning.recorded_trial import Epoch, Recorded
from sickbay.vitals import Setup, Table

SETUP = Setup(layers={"a": "Linear"}, shapes={"a.weight": (3, 2)}, epochs=2, output_shape=(8, 3))
ROWS = {"a.weight": {"norm": 1.23456, "zeros": 0.5, "nonfinite": 0.0}, "b.weight": {"norm": inf}}


def trials() -> list[Recorded]:
    tables = [Table.of("gradient", 7, ROWS), Table.of("activation", 7, {"a": {"variance": 2.0}})]
    first = Epoch({"loss": 0.9, "val_loss": nan}, tables, seconds=1.5)
    second = Epoch({"loss": inf}, [Table.of("gradient", 15, ROWS)], seconds=2.5)
    return [Recorded("task/3", SETUP, [first, second], {"seed": 3}), Recorded("task/4", SETUP, [])]


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    save(Pool("task", {"device": "CPU"}, trials()), tmp_path / "new" / "pool.zip")
    pool = load(tmp_path / "new" / "pool.zip")
    assert (pool.task, pool.about) == ("task", {"device": "CPU"})
    one, empty = pool.trials
    assert (one.name, one.setup, one.about) == ("task/3", SETUP, {"seed": 3})
    assert (empty.name, list(empty.epochs)) == ("task/4", [])
    assert [each.seconds for each in one.epochs] == [1.5, 2.5]
    assert [each.scalars["loss"] for each in one.epochs] == [pytest.approx(0.9), inf]
    assert np.isnan([each.scalars["val_loss"] for each in one.epochs]).all()
    assert [(table.kind, table.step) for each in one.epochs for table in each.tables] == [
        ("gradient", 7),
        ("activation", 7),
        ("gradient", 15),
    ]
    row = one.epochs[0].tables[0].row("a.weight")
    assert row["norm"] == pytest.approx(1.23456, rel=1e-3)
    assert row["zeros"] == 0.5
    assert one.epochs[0].tables[0].row("b.weight")["norm"] == inf
    assert one.epochs[0].tables[1].row("a")["variance"] == 2.0


def test_tables_that_no_indicator_reads_are_left_out(tmp_path: Path) -> None:
    odd = Table.of("batch", 7, {"input": {"norm": 1.0}})
    trial = Recorded("1", SETUP, [Epoch({"loss": 1.0}, [odd, *trials()[0].epochs[0].tables])])
    save(Pool("task", {}, [trial]), tmp_path / "pool.zip")
    tables = load(tmp_path / "pool.zip").trials[0].epochs[0].tables
    assert [table.kind for table in tables] == ["gradient", "activation"]
    assert tables[1].row("a")["variance"] == 2.0


def test_an_empty_pool(tmp_path: Path) -> None:
    save(Pool("task", {}, []), tmp_path / "pool.zip")
    assert load(tmp_path / "pool.zip").trials == []
