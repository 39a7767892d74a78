import json
from math import inf, isnan, nan
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from benchmarks.tuning.__main__ import main
from benchmarks.tuning.packed_arrays import packed, unpacked
from benchmarks.tuning.pool import COLUMNS, OLDER_COLUMNS, Pool, load, read_pool, save
from sickbay.errors import UsageError
from sickbay.problems import DeadUnits
from sickbay.tuning.recorded_search import Epoch, RecordedTrial
from sickbay.vitals import Setup, Table
from tests.tuning.sample_problems import trial

SETUP = Setup(layers={"a": "Linear"}, shapes={"a.weight": (3, 2)}, epochs=2, output_shape=(8, 3))
ROWS = {"a.weight": {"norm": 1.23456, "zeros": 0.5, "nonfinite": 0.0}, "b.weight": {"norm": inf}}


def trials() -> list[RecordedTrial]:
    tables = [Table.of("gradient", 7, ROWS), Table.of("activation", 7, {"a": {"variance": 2.0}})]
    first = Epoch({"loss": 0.9, "val_loss": nan}, tables, seconds=1.5)
    second = Epoch({"loss": inf}, [Table.of("gradient", 15, ROWS)], seconds=2.5)
    whole = RecordedTrial("task/3", SETUP, [first, second], {"seed": 3})
    return [whole, RecordedTrial("task/4", SETUP, [])]


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
    odd_trial = RecordedTrial(
        "1", SETUP, [Epoch({"loss": 1.0}, [odd, *trials()[0].epochs[0].tables])]
    )
    save(Pool("task", {}, [odd_trial]), tmp_path / "pool.zip")
    tables = load(tmp_path / "pool.zip").trials[0].epochs[0].tables
    assert [table.kind for table in tables] == ["gradient", "activation"]
    assert tables[1].row("a")["variance"] == 2.0


def test_an_empty_pool(tmp_path: Path) -> None:
    save(Pool("task", {}, []), tmp_path / "pool.zip")
    assert load(tmp_path / "pool.zip").trials == []


def test_a_mostly_dead_layer_is_found_from_a_pool_too(tmp_path: Path) -> None:
    setup = Setup(layers={"a": "ReLU", "b": "Linear"}, epochs=4)
    rows = {"a": {"dead_units": 0.95, "lasting_dead": 0.95}, "b": {}}
    epochs = [Epoch({"loss": 2.3}, [Table.of("activation", step, rows)]) for step in (7, 15, 23)]
    dead = RecordedTrial("1", setup, epochs)
    save(Pool("task", {}, [dead]), tmp_path / "pool.zip")
    (loaded,) = load(tmp_path / "pool.zip").trials
    findings = [
        DeadUnits().check(history)
        for each in (dead, loaded)
        for history in list(each.histories())[-1:]
    ]
    assert [finding and finding.layers for finding in findings] == [("a",), ("a",)]


def test_columns_that_an_older_pool_does_not_hold_are_nan(tmp_path: Path) -> None:
    save(Pool("task", {}, trials()), tmp_path / "pool.zip")
    with ZipFile(tmp_path / "pool.zip") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    head = json.loads(parts["pool.json"])
    del head["columns"]
    cells = unpacked("activation.npy", parts["activation.npy"])
    assert len(cells) == len(COLUMNS["activation"])
    older = packed(cells[: len(OLDER_COLUMNS["activation"])])
    with ZipFile(tmp_path / "older.zip", "w") as file:
        changed = {"pool.json": json.dumps(head).encode(), "activation.npy": older}
        for name, data in {**parts, **changed}.items():
            file.writestr(name, data)
    row = load(tmp_path / "older.zip").trials[0].epochs[0].tables[1].row("a")
    assert row["variance"] == 2.0
    assert isnan(row["lasting_dead"])


def test_a_pool_is_a_search(tmp_path: Path) -> None:
    save(Pool("task", {}, [trial("a", [1, 2])]), tmp_path / "task.zip")
    search = read_pool(tmp_path / "task.zip")
    assert [epoch.scalars["score"] for epoch in search.trials[0].epochs] == [9, 8]
    assert (search.name, search.metric, search.maximize) == ("task", "loss", False)
    save(Pool("task", {"metric": "score", "direction": "minimize"}, search.trials), tmp_path / "b")
    noted = read_pool(tmp_path / "b")
    assert (noted.metric, noted.maximize) == ("score", False)
    with pytest.raises(UsageError, match="--study needs an Optuna storage"):
        read_pool(tmp_path / "b", study="mine")


def test_a_pool_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(Pool("task", {}, [trial("a", [2.3] * 10)]), tmp_path / "task.zip")
    assert main(["replay", str(tmp_path / "task.zip"), "--profile", "bttackler"]) == 0
    assert "1 ended, all together:" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"replay: .*no.zip' cannot be read"):
        main(["replay", str(tmp_path / "no.zip")])
