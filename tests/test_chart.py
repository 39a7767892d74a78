import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from errno import ENOSPC
from io import FileIO
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sickbay.chart import Chart, ChartWriter, reader
from sickbay.chart import writer as module
from sickbay.errors import UsageError
from sickbay.findings import Event, Finding
from sickbay.history import History
from sickbay.readings import KINDS, STATISTICS, Setup, Table, Vitals

SINGLE = st.floats(width=32).map(np.float32)
LAYERS = MappingProxyType({"b": "Linear", "a": "ReLU"})
SETUP = Setup(layers=LAYERS, shapes={"b.weight": (3, 2)}, epochs=4)
EVIDENCE = {"now": nan, "limit": -inf, "usual": 0.1}
FINDING = Finding(
    problem="dead", severity="info", step=2, epoch=1, layers=("b",), message="ü", evidence=EVIDENCE
)
EVENT = Event(kind="gone", step=3, epoch=1, text='"quoted"\n\u2028 \ud800')


def table(step: int, *names: str) -> Table:
    values = np.random.default_rng(step).normal(size=(len(names), len(STATISTICS)))
    values[:, step] = [nan, inf][: len(names)]
    return Table(KINDS[step % len(KINDS)], step, names, values)


READINGS = [
    Vitals(step=0, time=1.5, scalars={"loss": 2.3, "step": 7.0}, tables=[table(0, "a", "b")]),
    Vitals(step=1, scalars={"loss": nan}),
    Vitals(step=1, epoch=1, scalars={"loss": -inf}, tables=[table(1, "b"), table(4, "a", "b")]),
    Vitals(step=5, epoch=1, scalars={"loss": inf, "lr": 5e-324}, tables=[table(5, "a", "ü")]),
    Vitals(step=6, epoch=1, tables=[table(2)]),
]


def write(writer: ChartWriter) -> History:
    """Write a small run with everything in it; return the history it should become."""
    history = History(replace(SETUP, optimizer="Adam"), window=99, tables=99)
    for reading in READINGS:
        writer.append(reading)
        history.append(reading)
        if reading.step == 1:
            writer.end_epoch(reading.epoch, {"val_loss": nan, "score": 0.5})
            history.end_epoch(val_loss=nan, score=0.5)
    writer.finding(FINDING)
    writer.setup(history.setup)
    writer.event(EVENT)
    return history


def series(history: History) -> list[list[str]]:
    """Every list that a history holds, as text, in which NaN equals NaN."""
    lists: list[list[Any]] = []
    for name in ("loss", "lr", "step", "val_loss", "score"):
        lists += history.timed(name, 99), history.epochs(name)
    for kind in KINDS:
        tables = history.tables(kind, 99)
        lists += [[(each.step, each.names, each.values.astype("f4").tolist()) for each in tables]]
    return [list(map(repr, each)) for each in lists]


def begins(short: History, long: list[list[str]]) -> bool:
    return all(few == many[: len(few)] for few, many in zip(series(short), long, strict=True))


def count(history: History) -> int:
    return sum(len(history.tables(kind, 10**9)) for kind in KINDS)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[ChartWriter]:
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        yield writer


def test_what_was_written_is_read(writer: ChartWriter) -> None:
    history = write(writer)
    chart = Chart.open(str(writer.path))
    read = chart.history()
    assert series(read) == series(history)
    assert (read.step, read.epoch, read.setup) == (history.step, history.epoch, history.setup)
    assert (list(read.setup.layers), chart.setup) == (["b", "a"], history.setup)
    assert (repr(chart.findings()), chart.events()) == (repr([FINDING]), [EVENT])
    assert (chart.path, len(list(writer.path.iterdir()))) == (writer.path, 4)
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
    with pytest.raises(UsageError, match=r"tables must be at least 1, got 0\."):
        chart.replay(tables=0)
    with pytest.raises(UsageError, match=r"window must be at least 1, got -1\."):
        chart.replay(window=-1)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.dictionaries(st.text(), st.floats() | st.integers(-5, 5) | SINGLE), max_size=5))
def test_any_scalars_are_read_as_written(steps: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        with closing(ChartWriter(folder, Setup())) as writer:
            for step, scalars in enumerate(steps):
                writer.append(Vitals(step=step, scalars=scalars))
        history, short = Chart.open(folder).history(), Chart.open(folder).history(window=2)
    for name in {name for scalars in steps for name in scalars}:
        true = [(step, float(row[name])) for step, row in enumerate(steps) if name in row]
        assert repr(history.timed(name, 9)) == repr(true)
        assert repr(short.timed(name, 9)) == repr(true[-2:])


def test_readings_wait_a_second_or_a_megabyte_and_findings_do_not(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    chart = Chart.open(writer.path)
    large = Table("weight", 0, ("a",) * 4000, np.zeros((4000, len(STATISTICS))))

    def append(step: int, *tables: Table) -> int:
        writer.append(Vitals(step=step, tables=tables))
        return chart.history().step

    assert append(0) == -1
    now += 1.01
    assert (append(1), append(2)) == (1, 1)
    writer.flush()
    assert (chart.history().step, append(3)) == (2, 2)
    writer.finding(FINDING)
    assert (len(chart.findings()), chart.history().step, append(4)) == (1, 3, 3)
    writer.event(EVENT)
    assert (chart.events(), chart.history().step) == ([EVENT], 4)
    assert [append(step, large) for step in range(5, 11)] == [4, 4, 4, 8, 8, 8]
    lines = (writer.path / "events.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["type"] == "rows" for line in lines) == 1


def fail(*_: object) -> NoReturn:
    raise OSError(ENOSPC, "No space left on device")


def record(monkeypatch: pytest.MonkeyPatch, most: int) -> list[tuple[str, bytes]]:
    """Note every write, and let at most so many bytes of it through; 0 is a full disk."""
    log: list[tuple[str, bytes]] = []

    class Recorded(FileIO):
        def write(self, data: Any, /) -> int:
            if not most:
                fail()
            log.append((Path(str(self.name)).name, bytes(data[:most])))
            return super().write(data[:most]) or 0

    monkeypatch.setattr(module, "open", lambda path, mode, **_: Recorded(path, mode), raising=False)
    return log


@pytest.mark.parametrize(("seconds", "most"), [(999.0, 1 << 30), (0.0, 7)])
def test_a_kill_at_any_byte_leaves_whole_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, most: int
) -> None:
    log = record(monkeypatch, most)
    monkeypatch.setattr(module, "FLUSH_SECONDS", seconds)
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        true = series(write(writer))
    killed = Chart.open(shutil.copytree(writer.path, tmp_path / "killed"))
    names = list(dict.fromkeys(name for name, _ in log))
    assert names == ["events.jsonl", "tables.bin", "scalars.jsonl"]
    for name in names:
        (killed.path / name).write_bytes(b"")
    for name, data in log:
        for byte in data:
            with (killed.path / name).open("ab") as file:
                file.write(bytes([byte]))
            read = killed.history()
            assert begins(read, true)
            steps = len(read.timed("loss", 9)) + (read.step == 6)
            assert count(read) == sum(len(each.tables) for each in READINGS[:steps])
    assert series(killed.history()) == true


@pytest.mark.parametrize("garbage", [b"", b'0\n\0\xff"\n{"step":1}\n' * 9])
@pytest.mark.parametrize("name", ["scalars.jsonl", "events.jsonl", "tables.bin"])
def test_a_file_torn_at_any_byte_is_read_up_to_there(
    writer: ChartWriter, name: str, garbage: bytes
) -> None:
    true = series(write(writer))
    chart, path = Chart.open(writer.path), writer.path / name
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size] + garbage)
        assert begins(chart.history(), true)
        assert repr(chart.findings()) in ("[]", repr([FINDING]))
        assert chart.events() in ([], [EVENT])
    path.unlink()
    assert begins(chart.history(), true)


LOOP = """
import itertools, sys
from sickbay.chart import writer as module
from sickbay.readings import Setup, Table, Vitals
module.FLUSH_SECONDS = 0.0
writer = module.ChartWriter(sys.argv[1], Setup())
for step in itertools.count():
    table = Table.of("gradient", step, {f"{step // 9}.weight": {"norm": step}})
    writer.append(Vitals(step=step, scalars={"loss": step / 7}, tables=[table]))
"""


def test_a_killed_process_leaves_what_it_wrote(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[2])}
    arguments = [sys.executable, "-c", LOOP, str(tmp_path / "run")]
    with subprocess.Popen(arguments, env=environment) as process:
        try:
            history = History()
            while history.step < 200 and process.poll() is None:
                if (tmp_path / "run" / "chart.json").exists():
                    history = Chart.open(tmp_path / "run").history()
                    assert count(history) == history.step + 1
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    history = Chart.open(tmp_path / "run").history()
    steps = range(history.step + 1)
    assert len(steps) > 200
    assert history.recent("loss", 10**9) == [step / 7 for step in steps]
    rows = [(each.names[0], each.column("norm")[0]) for each in history.tables("gradient", 10**9)]
    assert rows == [(f"{step // 9}.weight", step) for step in steps]


@pytest.mark.parametrize("path", ["file", "file/run", f"{'x' * 300}/run", f"a/{'x' * 300}", "\0"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="chart must be a folder that can be made or written to, "):
        ChartWriter(f"{tmp_path}/{path}", SETUP)
    with pytest.raises(UsageError, match=r"There is no chart in .*; a chart is a folder with"):
        Chart.open(f"{tmp_path}/{path}")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "mine")]


@pytest.mark.parametrize("path", [None, 3, "", b"run"])
@pytest.mark.parametrize("use", [Chart.open, lambda path: ChartWriter(path, SETUP)])
def test_only_a_path_is_a_path(use: Callable[[object], object], path: object) -> None:
    with pytest.raises(UsageError, match=r"chart must be a folder, as str or os.PathLike, got"):
        use(path)


def test_a_full_disk_leaves_nothing_or_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(monkeypatch, most=0)
    writer = ChartWriter(tmp_path / "run", SETUP)
    with pytest.raises(OSError, match="No space left"):
        writer.event(EVENT)
    with pytest.raises(UsageError, match=r"The chart in '.*run' is closed; start a new one\."):
        writer.append(Vitals(step=0))
    writer.close()
    assert Chart.open(writer.path).events() == []
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UsageError, match=r"got '.*b' \(No space left on device\)\."):
        ChartWriter(tmp_path / "a" / "b", SETUP)
    assert list(tmp_path.iterdir()) == [writer.path]


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
    for name in ("events.jsonl", "tables.bin", "scalars.jsonl"):
        (tmp_path / "run" / name).unlink()
    assert start(0).name == "run-10"


def test_values_are_float32_and_found_by_the_names_of_their_columns(writer: ChartWriter) -> None:
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


def test_a_table_that_could_not_be_read_is_refused_or_left_out(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(table(0, "a", "b"), names=("a",))
    with pytest.raises(UsageError, match=r"values must have the shape \(1, 18\), got \(2, 18\)"):
        writer.append(Vitals(step=0, tables=[wrong]))
    write(writer)
    monkeypatch.setattr(reader, "KIND_OF", {})
    assert count(Chart.open(writer.path).history()) == 0


def test_no_window_a_newer_schema_and_a_broken_head_are_refused(writer: ChartWriter) -> None:
    with pytest.raises(UsageError, match=r"window must be at least 1, or None for all, got 0\."):
        Chart.open(writer.path).history(window=0)
    (writer.path / "chart.json").write_text(json.dumps({"schema": 2}))
    with pytest.raises(UsageError, match="has schema 2, this sickbay reads up to 1; get a newer"):
        Chart.open(writer.path)
    for text in ("", '{"schema"', "[]", "{}", '{"schema": null}'):
        (writer.path / "chart.json").write_text(text)
        with pytest.raises(UsageError, match="There is no chart in"):
            Chart.open(writer.path)


def test_a_writer_that_is_never_closed_loses_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from sickbay.chart.writer import *\n"
        "writer = ChartWriter(sys.argv[1], Setup())\n"
        "writer.append(Vitals(step=0, scalars={'loss': 1.5}))\n"
    )
    options = ["-W", "error", "-c", code, str(tmp_path / "run")]
    done = subprocess.run([sys.executable, *options], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert Chart.open(tmp_path / "run").history().recent("loss", 1) == [1.5]
