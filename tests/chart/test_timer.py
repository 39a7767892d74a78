"""A timer writes waiting rows, whatever the loop does, and follows the folder."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from errno import ENOSPC
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from sickbay.chart import Chart, ChartWriter, files
from sickbay.chart import writer as module
from sickbay.errors import UsageError
from sickbay.vitals import Vitals
from tests.chart.small_run import EVENT, SETUP, table


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.01)


def until(happens: Callable[[], object]) -> None:
    """Wait for something that another thread does, in vain for a minute at most."""
    end = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.005)


def ours() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "sickbay chart"]


def test_a_pause_after_the_last_step_loses_nothing(writer: ChartWriter) -> None:
    chart = Chart.open(writer.path)
    for start in (0, 100):
        for step in range(start, start + 100):
            writer.append(Vitals(step=step, tables=[table(0, "a")] if step % 10 == 0 else ()))
        until(lambda: chart.history().step == step)  # noqa: B023 - it is waited for here
    assert len(chart.history().tables("gradient", 99)) == 20
    writer.end_epoch(0, {"val_loss": 1.0})
    until(lambda: chart.history().epochs("val_loss") == [1.0])


def test_no_thread_runs_when_nothing_waits(writer: ChartWriter) -> None:
    assert ours() == []
    writer.append(Vitals(step=0))
    until(lambda: not ours())
    assert Chart.open(writer.path).history().step == 0
    writer.append(Vitals(step=1))
    writer.close()
    assert ours() == []


def test_one_timer_is_enough(writer: ChartWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 999.0)
    for step in range(5):
        writer.append(Vitals(step=step))
        writer.event(EVENT)
    assert len(ours()) == 1


def test_many_threads_lose_nothing(writer: ChartWriter) -> None:
    def loop(first: int) -> None:
        for step in range(first, first + 2000):
            writer.append(Vitals(step=step, scalars={"loss": step}))

    threads = [threading.Thread(target=loop, args=(first,)) for first in (0, 2000, 4000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    chart = Chart.open(writer.path)
    assert sorted(chart.history().recent("loss", 9999)) == list(range(6000))
    assert chart.damage == []


def test_an_error_of_the_timer_is_raised_by_the_next_call_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(FileIO):
        def write(self, _: Any, /) -> int:
            raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "create_file", lambda path: Full(path, "ab"))
    writer = ChartWriter(tmp_path / "run", SETUP)
    writer.append(Vitals(step=0))
    until(lambda: not ours())
    with pytest.raises(OSError, match="No space left"):
        writer.append(Vitals(step=1))
    with pytest.raises(UsageError, match="is closed"):
        writer.append(Vitals(step=2))
    writer.close()


def test_an_error_without_another_call_is_raised_by_close(tmp_path: Path) -> None:
    writer = ChartWriter(tmp_path / "run", SETUP)
    shutil.rmtree(writer.path)
    writer.append(Vitals(step=0))
    until(lambda: not ours())
    with pytest.raises(UsageError, match="is gone"):
        writer.close()
    writer.close()


def test_without_threads_rows_are_written_at_once(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    writer.append(Vitals(step=0))
    assert Chart.open(writer.path).history().step == 0


FORK = """
import os, sys
from sickbay.chart import ChartWriter
from sickbay.findings import Event
from sickbay.vitals import Setup, Vitals
writer = ChartWriter(sys.argv[1], Setup())
writer.append(Vitals(step=0, scalars={"loss": 1.0}))
child = os.fork()
who = 1.0 if child else 2.0
for step in range(1, 2000):
    writer.append(Vitals(step=step, scalars={"loss": who}))
writer.end_epoch(0, {"val_loss": who})
writer.event(Event(kind="notice", step=1, text=str(who)))
if not child:
    writer.flush()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_writes_nothing(tmp_path: Path) -> None:
    options = ["-W", "error", "-c", FORK, str(tmp_path / "run")]
    done = subprocess.run([sys.executable, *options], check=True, capture_output=True, text=True)
    chart = Chart.open(tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    assert chart.history().recent("loss", 9999) == [1.0] * 2000
    assert chart.history().epochs("val_loss") == [1.0]
    assert [event.text for event in chart.events()] == ["1.0"]


def test_no_thread_runs_while_a_process_is_forked(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_SECONDS", 999.0)
    writer.append(Vitals(step=0))
    assert len(ours()) == 1
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert ours() == []
    assert Chart.open(writer.path).history().step == 0
    writer.append(Vitals(step=1))
    assert len(ours()) == 1


def test_a_deleted_folder_is_reported_once(writer: ChartWriter) -> None:
    writer.append(Vitals(step=0))
    writer.flush()
    shutil.rmtree(writer.path)
    with pytest.raises(UsageError, match=r"The chart's folder '.*run' is gone; recording stops\."):
        writer.event(EVENT)
    with pytest.raises(UsageError, match="is closed"):
        writer.event(EVENT)
    assert not writer.path.exists()


def test_a_deleted_file_is_noticed_too(writer: ChartWriter) -> None:
    (writer.path / "tables.bin").unlink()
    with pytest.raises(UsageError, match="is gone"):
        writer.event(EVENT)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell")
def test_writing_follows_a_renamed_folder(tmp_path: Path) -> None:
    said: list[str] = []
    with closing(ChartWriter(tmp_path / "run", SETUP, said.append)) as writer:
        writer.append(Vitals(step=0))
        writer.flush()
        (tmp_path / "run").rename(tmp_path / "other")
        writer.append(Vitals(step=1))
        until(lambda: not ours())
        writer.event(EVENT)
        writer.event(EVENT)
        assert writer.path == tmp_path / "other"
    (text,) = said
    assert text.endswith(f"run' is now '{tmp_path}/other'; recording goes on there.")
    chart = Chart.open(tmp_path / "other")
    assert (chart.history().step, len(chart.events())) == (1, 2)
