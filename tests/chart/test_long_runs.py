"""Long runs are blocks of columns: small, the same as row by row, and read from the end."""

from contextlib import closing
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.chart import made_up
from sickbay.chart import Chart, ChartWriter, blocks, reader
from sickbay.chart.binary_records import pack_arrays, pack_record
from sickbay.chart.blocks import Columns
from sickbay.chart.json_lines import EpochEnd, Row
from sickbay.errors import UsageError
from sickbay.history import History
from sickbay.vitals import KINDS, Setup, Table, Vitals

FLOATS = st.floats() | st.floats(width=32) | st.sampled_from([0.1, nan, inf, -inf, -0.0])
SCALARS = st.dictionaries(st.sampled_from(["loss", "lr", "ü\ud800", "val"]), FLOATS, max_size=3)
WHOLE = st.integers(-(2**62), 2**62)
STEPS = st.builds(Vitals, WHOLE, WHOLE, st.just(1.25), SCALARS)
ENDS = st.builds(EpochEnd, WHOLE, SCALARS)
ROWS = st.lists(STEPS | ENDS, max_size=20)


def appended(rows: list[Row], window: int = 512) -> History:
    history = History(window=window)
    for row in rows:
        if isinstance(row, EpochEnd):
            history.end_epoch(**row.metrics)
        else:
            history.append(row)
    return history


def packed(columns: Columns, history: History) -> bytes:
    rows = len(columns.steps) + len(columns.ends)
    return blocks.pack_block(columns, history, row=0, rows=rows, start=0, stop=0, kinds={})


def comparable(row: Row) -> str:
    if isinstance(row, EpochEnd):
        return repr(row)
    return repr(replace(row, scalars=dict(sorted(row.scalars.items()))))


def all_of(history: History) -> str:
    """Everything that a history holds, as text."""
    tables = {kind: [each.step for each in history.tables(kind, 10**6)] for kind in KINDS}
    first = {name: values for name, values in history.totals.first.items() if values}
    sums = dict(sorted(history.totals.sums.items()))
    best = dict(sorted(history.totals.best.items()))
    totals = replace(history.totals, first=first, best=best, sums=sums)
    series = {name: history.timed(name, 10**6) for name in history.scalars()}
    return repr((history.step, history.epoch, series, totals, tables))


@settings(deadline=None, max_examples=100)
@given(ROWS, ROWS)
def test_a_block_holds_the_rows_it_was_made_of(before: list[Row], rows: list[Row]) -> None:
    tally = appended(before, window=1)
    columns = Columns.of(rows)
    data = packed(columns, tally)
    (block,) = blocks.scan_blocks(data)
    assert block is not None
    read = block.columns()
    true, skipped = appended(before + rows), appended(before)
    played = appended(before)
    moments = list(read.add_to(played, 0, lambda *_: ()))
    assert all_of(played) == all_of(true)
    assert sum(is_over for _, is_over in moments) == len(columns.ends)
    assert list(map(comparable, read.rows())) == list(map(comparable, rows))
    block.skip(skipped)
    assert repr(skipped.totals.epochs) == repr(true.totals.epochs)
    assert (skipped.step, skipped.epoch) == (true.step, true.epoch)
    for what in ("sums", "best", "first"):
        mine, wanted = (getattr(each.totals, what) for each in (skipped, true))
        assert [repr(mine.get(name)) for name in wanted if wanted[name]] == [
            repr(value) for value in wanted.values() if value
        ]


@pytest.mark.parametrize("index", [[2, 1], [1, 1], [-1, 1], [1, 3]])
def test_an_index_that_does_not_ascend_is_damage(index: list[int]) -> None:
    columns = Columns.of([Vitals(step, scalars={"loss": 1.0} if step else {}) for step in range(3)])
    wrong = replace(columns, scalars={"loss": (np.array(index), np.ones(2))})
    (block,) = blocks.scan_blocks(packed(columns, History()))
    assert block is not None
    body = pack_arrays(blocks._to_arrays(wrong))
    (bad,) = blocks.scan_blocks(pack_record(blocks.MAGIC, block.record.head(), body))
    assert bad is not None
    with pytest.raises(UsageError, match="must ascend"):
        bad.columns()


@pytest.mark.parametrize("sums", [(), (1.0,), (1.0, 0.0), (1.0, 2.0, 3.0)])
def test_a_digest_whose_sums_make_no_mean_is_damage(sums: tuple[float, ...]) -> None:
    history = History()
    history.totals.sums["lr"] = sums
    data = packed(Columns.of([]), history)
    assert list(blocks.scan_blocks(data)) == [None]


def write(folder: Path, steps: int, flush: int) -> None:
    with closing(ChartWriter(folder, Setup())) as writer:
        for vitals in made_up(steps, seed=0):
            if vitals.step % 100 == 7:
                rows = {"a": {"norm": vitals.step}}
                vitals.tables = [Table.of(KINDS[vitals.step % 3], vitals.step, rows)]
            writer.append(vitals)
            if vitals.step % flush == 0:
                writer.flush()
            if vitals.step % 1000 == 999:
                writer.end_epoch(vitals.epoch, {"val_loss": 1 / (vitals.step + 1)})


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "run"
    write(folder, 20_500, 900)
    return folder


def test_a_step_takes_few_bytes(long_run: Path) -> None:
    lines = (long_run / "scalars.jsonl").read_text().splitlines()
    steps = 20_500 - len(lines)
    assert 0 < len(lines) < 1024
    assert (long_run / "scalars.bin").stat().st_size < 16 * steps


def test_reading_at_once_is_the_same_as_row_by_row(long_run: Path) -> None:
    chart = Chart.open(long_run)
    *_, grown = chart.replay(window=10**6, tables=10**6)
    assert all_of(chart.history()) == all_of(grown)
    assert grown.recent("loss", 10**6) == [each.scalars["loss"] for each in made_up(20_500, 0)]
    *_, (history, seconds) = chart.epochs()
    assert len(history.epochs("val_loss")) == 20
    assert seconds == pytest.approx(1.0, rel=0.1)
    assert chart.damage == []


@pytest.mark.parametrize("window", [1, 30, 512, 5000])
def test_a_window_is_the_end_of_the_whole_run(long_run: Path, window: int) -> None:
    chart = Chart.open(long_run)
    *_, grown = chart.replay(window=window, tables=window)
    assert all_of(chart.history(window)) == all_of(grown)


def test_a_window_unpacks_only_the_last_blocks(
    long_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[blocks.Block] = []
    columns = blocks.Block.columns

    def look(block: blocks.Block) -> Columns:
        looked.append(block)
        return columns(block)

    monkeypatch.setattr(blocks.Block, "columns", look)
    chart = Chart.open(long_run)
    chart.history(5)
    few = len(looked)
    chart.history()
    assert 0 < few < (len(looked) - few) / 3


def test_more_values_than_memory_are_refused(
    long_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_VALUES", 10_000)
    chart = Chart.open(long_run)
    with pytest.raises(UsageError, match=r"values, at most 10,000 are read at once; give a small"):
        chart.history()
    assert len(chart.history(2000).recent("loss", 9999)) == 2000


def test_epochs_of_one_step(tmp_path: Path) -> None:
    with closing(ChartWriter(tmp_path / "run", Setup())) as writer:
        for step in range(2500):
            writer.append(Vitals(step, step, scalars={"loss": 1 / (step + 1)}))
            writer.end_epoch(step, {"score": step})
    history = Chart.open(tmp_path / "run").history(10)
    assert history.epochs("loss") == [1 / (step + 1) for step in range(2500)]
    assert history.epochs("score") == list(range(2500))
    assert history.recent("loss", 3) == [1 / 2498, 1 / 2499, 1 / 2500]
