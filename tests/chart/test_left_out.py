"""Damaged parts are left out and reported; everything else is read."""

import json
import shutil
import struct
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from sickbay.chart import Chart, ChartWriter, files, stored_run
from sickbay.chart.json_lines import Events, encode
from sickbay.chart.stored_run import Damage, read_events
from sickbay.history import History
from sickbay.vitals import Setup, Table, Vitals
from tests.chart.small_run import FINDING, begins, count, series, write

OLD = Path(__file__).parent / "old"  # the small run, written with schema 1


def test_an_old_chart_is_read(writer: ChartWriter) -> None:
    true, chart = write(writer), Chart.open(OLD)
    assert series(chart.history()) == series(true)
    assert (chart.setup, repr(chart.findings())) == (true.setup, repr([FINDING]))
    assert [(each.step, each.epoch, count(each)) for each in chart.replay()][-1] == (6, 1, 5)
    assert chart.damage == []


def steps(folder: Path, number: int = 30) -> Chart:
    with closing(ChartWriter(folder, Setup())) as writer:
        for step in range(number):
            tables = [Table.of("gradient", step, {"a": {"norm": step}})] if step % 2 else ()
            writer.append(Vitals(step=step, scalars={"loss": step}, tables=tables))
            writer.flush()
    return Chart.open(folder)


def spoil(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)


def norms(chart: Chart) -> list[float]:
    return [each.column("norm")[0] for each in chart.history().tables("gradient", 99)]


def test_a_damaged_block_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_PER_BLOCK", 10)
    chart = steps(tmp_path / "run")
    size = (chart.path / "scalars.bin").stat().st_size
    known = {}
    for place in range(size // 3, 2 * size // 3):
        spoil(chart.path / "scalars.bin", place)
        losses = chart.history().recent("loss", 99)
        (text,) = chart.damage
        assert text.startswith("scalars.bin: 1 block of ")
        assert losses in ([*range(10, 30)], [*range(10), *range(20, 30)], [*range(20)])
        assert norms(chart) == [loss for loss in losses if loss % 2]
        known[text] = place
        spoil(chart.path / "scalars.bin", place)
    assert list(known) == ["scalars.bin: 1 block of 3 is damaged and left out"]
    assert (len(chart.history().recent("loss", 99)), chart.damage) == (30, [])


def as_old(chart: Chart) -> None:
    """Write what `steps` has written as it is in schema 1."""
    lines = (chart.path / "scalars.jsonl").read_bytes().splitlines()
    told = [json.loads(line) for line in lines]
    old = [{**each, "tables": each["step"] % 2} for each in told]
    for each in old:
        del each["row"]
    (chart.path / "scalars.jsonl").write_bytes(b"".join(map(encode, old)))
    records = b""
    for table in chart.history().tables("gradient", 99):
        data = table.values.astype("<f4").tobytes()
        fields = b"SBT1", b"gradient", table.step, 0, 0, 1, len(data)
        header = struct.pack("<4s16sqqIII", *fields)
        records += header + zlib.crc32(data, zlib.crc32(header)).to_bytes(4, "little") + data
    (chart.path / "tables.bin").write_bytes(records)
    head = json.loads((chart.path / "chart.json").read_text())
    (chart.path / "chart.json").write_text(json.dumps({**head, "schema": 1}))


@pytest.mark.parametrize("is_old", [False, True])
def test_a_damaged_line_is_left_out(tmp_path: Path, is_old: bool) -> None:
    chart = steps(tmp_path / "run")
    if is_old:
        as_old(chart)
    path = chart.path / "scalars.jsonl"
    lines = path.read_bytes().splitlines()
    lines[7], lines[8] = b'{"step": 7', lines[8].replace(b'"step"', b'"stop"')
    path.write_bytes(b"\n".join(lines) + b"\n")
    chart = Chart.open(path.parent)
    left = [*range(7), *range(9, 30)]
    assert chart.history().recent("loss", 99) == left
    assert norms(chart) == [loss for loss in left if loss % 2]
    assert chart.damage == ["scalars.jsonl: 2 lines of 30 are damaged and left out"]


def test_a_damaged_table_is_left_out(tmp_path: Path) -> None:
    chart = steps(tmp_path / "run")
    path = chart.path / "tables.bin"
    record = path.stat().st_size // 15
    for place in range(5 * record, 6 * record):
        spoil(path, place)
        assert norms(chart) == [1, 3, 5, 7, 9, *range(13, 30, 2)]
        assert chart.damage == ["tables.bin: 1 table of 15 is damaged and left out"]
        spoil(path, place)


def test_a_replay_that_has_just_begun_does_not_hide_damage(writer: ChartWriter) -> None:
    write(writer)
    path = writer.path / "tables.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    chart = Chart.open(writer.path)
    chart.history()
    known = chart.damage
    assert len(known) == 1
    next(chart.replay())
    assert chart.damage == known


def test_a_damaged_table_of_an_old_chart_is_left_out(tmp_path: Path) -> None:
    shutil.copytree(OLD, tmp_path / "run")
    chart = Chart.open(tmp_path / "run")
    true = chart.history().tables("batch", 9)[0].values.tobytes()
    spoil(tmp_path / "run" / "tables.bin", 3)
    assert count(chart.history()) == 4
    assert chart.history().tables("batch", 9)[0].values.tobytes() == true
    assert chart.damage == ["tables.bin: 1 table of 5 is damaged and left out"]


def test_a_damaged_event_is_left_out(writer: ChartWriter) -> None:
    true = series(write(writer))
    path = writer.path / "events.jsonl"
    finding = {"type": "finding", "problem": "dead", "step": "seven"}
    newer = {"type": "finding", "problem": "later", "step": 3, "severity": "info", "newer": [1]}
    lines = [finding, newer, {"type": "unheard of"}, {"kind": "gone", "step": 3}]
    path.write_bytes(path.read_bytes() + "\n".join(map(json.dumps, lines)).encode() + b"\n{")
    chart = Chart.open(writer.path)
    assert [each.problem for each in chart.findings()] == ["dead", "later"]
    (text,) = chart.damage
    assert text.startswith("events.jsonl: 2 lines of ")
    assert begins(chart.history(), true)


def test_a_header_that_promises_much_takes_no_memory(writer: ChartWriter) -> None:
    writer.append(Vitals(step=0, tables=[Table.of("gradient", 0, {"a": {"norm": 1}})]))
    writer.close()
    path = writer.path / "tables.bin"
    fields = (b"SBT1", b"gradient", 0, 0, 0, 1 << 24, 0)
    header = struct.pack("<4s16sqqIII", *fields)
    path.write_bytes(header + zlib.crc32(header).to_bytes(4, "little") + path.read_bytes())
    assert norms(Chart.open(writer.path)) == [1]


def test_what_is_written_while_it_is_read_is_not_damage(
    writer: ChartWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(step: int) -> None:
        tables = [Table.of("gradient", step, {f"{step}": {"norm": step}})]
        writer.append(Vitals(step=step, scalars={"loss": step}, tables=tables))
        writer.flush()

    def late(path: Path, damage: Damage) -> Events:
        found = read_events(path, damage)
        append(2)
        return found

    append(1)
    chart = Chart.open(writer.path)
    monkeypatch.setattr(stored_run, "read_events", late)
    run = chart._run()
    history = History()
    assert len(list(run.add_to(history))) == 1
    assert (history.recent("loss", 9), count(history), chart.damage) == ([1], 1, [])


def test_a_metric_may_be_called_anything(writer: ChartWriter) -> None:
    writer.end_epoch(0, {"self": 1.0, "metrics": 2.0})
    writer.close()
    assert Chart.open(writer.path).history().epochs("self") == [1.0]
