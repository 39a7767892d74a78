"""Reading returns what was written, and every run gets its own folder."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sickbay.chart import Chart, ChartWriter
from sickbay.chart import writer as module
from sickbay.errors import UsageError
from sickbay.vitals import STATISTICS, Setup, Table, Vitals
from tests.chart.small_run import EVENT, FINDING, SETUP, count, series, write

SINGLE = st.floats(width=32).map(np.float32)
NUMBERS = st.floats() | st.integers(-5, 5) | st.booleans() | SINGLE


def test_reading_returns_what_was_written(writer: ChartWriter) -> None:
    history = write(writer)
    chart = Chart.open(str(writer.path))
    read = chart.history()
    assert series(read) == series(history)
    assert (read.step, read.epoch, read.setup) == (history.step, history.epoch, history.setup)
    assert (list(read.setup.layers), chart.setup) == (["b", "a"], history.setup)
    assert (repr(chart.findings()), chart.events()) == (repr([FINDING]), [EVENT])
    assert (chart.path, len(list(writer.path.iterdir()))) == (writer.path, 5)
    assert chart.damage == []
    for name in ("scalars.jsonl", "events.jsonl"):
        text = (writer.path / name).read_text().splitlines()
        lines = [json.loads(line, parse_constant=pytest.fail) for line in text]
        assert len(lines) > 5
        assert all("type" in line for line in lines) == (name == "events.jsonl")


def test_a_replay_is_the_history_as_it_grew(writer: ChartWriter) -> None:
    end = write(writer)
    seen = [(each.step, each.epoch, count(each), each) for each in Chart.open(writer.path).replay()]
    assert [each[:3] for each in seen] == [
        (0, 0, 1), (1, 0, 1), (1, 1, 1), (1, 1, 3), (1, 2, 3), (5, 1, 4), (6, 1, 5)
    ]  # fmt: skip
    assert len({id(each[3]) for each in seen}) == 1
    assert (series(seen[-1][3]), seen[-1][3].setup) == (series(end), end.setup)


def test_a_replay_forgets_as_a_loop_does(writer: ChartWriter) -> None:
    for step in range(4):
        tables = [Table.of("gradient", step, {"a": {"norm": step}})]
        writer.append(Vitals(step=step, scalars={"loss": step}, tables=tables))
    writer.close()
    chart = Chart.open(writer.path)
    kept = [
        (each.recent("loss", 9), [table.step for table in each.tables("gradient", 9)])
        for each in chart.replay(window=2, tables=3)
    ]
    assert kept == [([0], [0]), ([0, 1], [0, 1]), ([1, 2], [0, 1, 2]), ([2, 3], [1, 2, 3])]
    with pytest.raises(UsageError, match=r"tables must be a whole number of at least 1.*, got 0"):
        chart.replay(tables=0)
    with pytest.raises(UsageError, match=r"window must be a whole number of at least 1.*, got -1"):
        chart.replay(window=-1)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(st.text(), NUMBERS), max_size=5))
def test_any_scalars_are_read_as_written(steps: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        with closing(ChartWriter(folder, Setup())) as writer:
            for step, scalars in enumerate(steps):
                writer.append(Vitals(step=step, scalars=scalars))
                writer.end_epoch(step, scalars)
        history, short = Chart.open(folder).history(), Chart.open(folder).history(window=2)
    for name in {name for scalars in steps for name in scalars}:
        true = [(step, float(row[name])) for step, row in enumerate(steps) if name in row]
        assert repr(history.timed(name, 9)) == repr(true)
        assert repr(history.epochs(name)) == repr([value for _, value in true])
        assert repr(short.timed(name, 9)) == repr(true[-2:])


def test_readings_wait_for_a_timer_or_a_megabyte_and_findings_do_not(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 999.0)
    chart = Chart.open(writer.path)
    large = Table("weight", 0, ("a",) * 4000, np.zeros((4000, len(STATISTICS))))

    def append(step: int, *tables: Table) -> int:
        writer.append(Vitals(step=step, tables=tables))
        return chart.history().step

    assert (append(0), append(1)) == (-1, -1)
    writer.flush()
    assert (chart.history().step, append(2)) == (1, 1)
    writer.finding(FINDING)
    assert (len(chart.findings()), chart.history().step, append(3)) == (1, 2, 2)
    writer.event(EVENT)
    assert (chart.events(), chart.history().step) == ([EVENT], 3)
    assert [append(step, large) for step in range(4, 9)] == [3, 5, 5, 7, 7]
    lines = (writer.path / "events.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["type"] == "rows" for line in lines) == 1


def test_at_most_a_few_thousand_steps_wait(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 999.0)
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    for step in range(25):
        writer.append(Vitals(step=step))
    assert Chart.open(writer.path).history().step == 19


@pytest.mark.parametrize("path", ["file", "file/run", f"{'x' * 300}/run", f"a/{'x' * 300}"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="chart must be a folder that can be made or written to, "):
        ChartWriter(f"{tmp_path}/{path}", SETUP)
    with pytest.raises(UsageError, match=r"There is no chart in .*; a chart is a folder with"):
        Chart.open(f"{tmp_path}/{path}")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "mine")]


@pytest.mark.parametrize("path", [None, 3, "", b"run", "a\0"])
@pytest.mark.parametrize("use", [Chart.open, lambda path: ChartWriter(path, SETUP)])
def test_other_types_are_not_paths(use: Callable[[object], object], path: object) -> None:
    with pytest.raises(UsageError, match=r"chart must be a path, as str or os.PathLike, got"):
        use(path)


def test_every_run_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "weights.pt").touch()
    (tmp_path / "run-2").write_text("mine")

    def start(step: int) -> Path:
        with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
            writer.append(Vitals(step=step))
        return writer.path

    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(start, range(8)))
    assert {path.name for path in paths} == {"run", *(f"run-{number}" for number in range(3, 10))}
    assert [Chart.open(path).history().step for path in paths] == list(range(8))
    with pytest.raises(UsageError, match=r"There is no chart in .*; there is one in '.*run'\."):
        Chart.open(tmp_path)
    for name in ("events.jsonl", "tables.bin", "scalars.bin", "scalars.jsonl"):
        (tmp_path / "run" / name).unlink()
    assert start(0).name == "run-10"


def test_table_values_are_float32_and_found_by_column_name(writer: ChartWriter) -> None:
    row = {"count": 1e300, "norm": 3.0, "absmax": 1 / 3, "mean": 1e-300}
    writer.append(Vitals(step=0, tables=[Table.of("weight", 0, {"a": row})]))
    writer.close()
    head = json.loads((writer.path / "chart.json").read_text())
    head["statistics"][:2] = ["norm", "unheard_of"]
    (writer.path / "chart.json").write_text(json.dumps(head))
    read = Chart.open(writer.path).history().table("weight")
    assert read is not None
    expected = {"count": nan, "norm": inf, "absmax": float(np.float32(1 / 3)), "mean": 0.0}
    assert repr({name: read.row("a")[name] for name in expected}) == repr(expected)
    assert read.values.dtype == np.float64
