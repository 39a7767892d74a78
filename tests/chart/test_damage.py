"""A chart after a kill, on a full disk or with a torn file is read, or refused with the reason."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from errno import ENOSPC
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sickbay.chart import Chart, ChartWriter, files, table_records
from sickbay.chart import writer as module
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.vitals import Vitals
from tests.chart.small_run import (
    EVENT,
    FINDING,
    READINGS,
    SETUP,
    begins,
    count,
    series,
    table,
    write,
)


def fail(*_: object) -> NoReturn:
    raise OSError(ENOSPC, "No space left on device")


def record(monkeypatch: pytest.MonkeyPatch, most: int) -> list[tuple[str, bytes]]:
    """Note every write, and let at most so many bytes of it through; 0 is a full disk.

    A file that is emptied is noted as a write of no bytes.
    """
    log: list[tuple[str, bytes]] = []

    class Recorded(FileIO):
        def write(self, data: Any, /) -> int:
            if not most:
                fail()
            log.append((Path(str(self.name)).name, bytes(data[:most])))
            return super().write(data[:most]) or 0

        def truncate(self, size: int | None = None, /) -> int:
            log.append((Path(str(self.name)).name, b""))
            return super().truncate(size)

    monkeypatch.setattr(files, "create_file", lambda path: Recorded(path, "ab"))
    return log


@pytest.mark.parametrize(
    ("waiting", "most", "enough"), [(999, 1 << 30, 1), (1, 7, 3), (1, 7, 1000)]
)
def test_a_kill_at_any_byte_leaves_whole_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int, most: int, enough: int
) -> None:
    log = record(monkeypatch, most)
    monkeypatch.setattr(module, "MOST_ROWS", waiting)
    monkeypatch.setattr(files, "ROWS_PER_BLOCK", enough)
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        true = series(write(writer))
    killed = Chart.open(shutil.copytree(writer.path, tmp_path / "killed"))
    names = list(dict.fromkeys(name for name, _ in log))
    assert names[:2] == ["events.jsonl", "tables.bin"]
    for name in names:
        (killed.path / name).write_bytes(b"")
    for name, data in log:
        if not data:
            (killed.path / name).write_bytes(b"")
        for byte in data:
            with (killed.path / name).open("ab") as file:
                file.write(bytes([byte]))
            read = killed.history()
            assert killed.damage == []
            assert begins(read, true)
            steps = len(read.timed("loss", 9)) + (read.step == 6)
            assert count(read) == sum(len(each.tables) for each in READINGS[:steps])
    assert series(killed.history()) == true


@pytest.mark.parametrize("garbage", [b"", b'0\n\0\xff"\n{"step":1}\n' * 9])
@pytest.mark.parametrize("name", ["scalars.bin", "scalars.jsonl", "events.jsonl", "tables.bin"])
def test_a_file_torn_at_any_byte_is_read_up_to_there(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch, name: str, garbage: bytes
) -> None:
    monkeypatch.setattr(files, "ROWS_PER_BLOCK", 2 if name == "scalars.bin" else 1000)
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
from sickbay.chart import files, writer as module
from sickbay.vitals import Setup, Table, Vitals
module.MOST_ROWS, files.ROWS_PER_BLOCK = 1, 10
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


def test_a_full_disk_leaves_no_half_made_chart(
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


def test_an_unreadable_table_is_refused_or_left_out(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(table(0, "a", "b"), names=("a",))
    with pytest.raises(UsageError, match=r"values must have the shape \(1, 18\), got \(2, 18\)"):
        writer.append(Vitals(step=0, tables=[wrong]))
    write(writer)
    monkeypatch.setattr(table_records, "KIND_OF", {})
    chart = Chart.open(writer.path)
    assert count(chart.history()) == 0
    assert chart.damage == ["tables.bin: 5 tables of 5 are damaged and left out"]


def test_no_window_a_newer_schema_and_a_broken_head_are_refused(writer: ChartWriter) -> None:
    chart, wrong = Chart.open(writer.path), "window must be a whole number of at least 1"
    for window in (0, 1.5, "2", True, 1 << 70):
        with pytest.raises(UsageError, match=wrong):
            chart.history(window=window)  # type: ignore[arg-type]
    (writer.path / "chart.json").write_text(json.dumps({"schema": 3}))
    with pytest.raises(UsageError, match="has schema 3, this sickbay reads up to 2; get a newer"):
        Chart.open(writer.path)
    for text in ("", '{"schema"', "[]", "{}", '{"schema": null}', '{"schema": 1}', "[" * 99999):
        (writer.path / "chart.json").write_text(text)
        with pytest.raises(UsageError, match=r"chart\.json' cannot be read: "):
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
