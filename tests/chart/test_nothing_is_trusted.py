"""Whatever the files hold, sound parts are read, or one error names the file."""

import json
import os
import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sickbay.chart import Chart, ChartWriter, files
from sickbay.chart.binary_records import HEADER, pack_record
from sickbay.errors import UsageError
from sickbay.vitals import Setup
from tests.chart.small_run import SETUP, write

OLD = Path(__file__).parent / "old"  # the small run, written with schema 1
FILES = ("chart.json", "events.jsonl", "tables.bin", "scalars.bin", "scalars.jsonl")
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 10**30, 0.5, "", "nan", "x"),
    *([], [None], {}, {"a": None}, [[1]]),
)


def read_all(chart: Chart) -> None:
    """Use everything that a chart offers."""
    assert isinstance(chart.started, float)
    assert isinstance(chart.setup, Setup)
    chart.findings()
    chart.events()
    chart.history()
    chart.history(window=2)
    assert sum(1 for _ in chart.replay(2, 2)) < 1000
    assert sum(1 for _ in chart.epochs()) < 1000


def survives(folder: Path) -> bool:
    """Return whether a chart can be read; if not, the error must name the file."""
    try:
        read_all(Chart.open(folder))
    except UsageError as error:
        text = str(error)
    else:
        return True
    assert any(name in text for name in FILES), text
    return False


@pytest.fixture(params=["old", "lines", "blocks"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "old":
        return Path(shutil.copytree(OLD, tmp_path / "run"))
    monkeypatch.setattr(files, "ROWS_PER_BLOCK", 3 if request.param == "blocks" else 1000)
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        write(writer)
    return tmp_path / "run"


def test_mutated_bytes(folder: Path) -> None:
    draw, read = random.Random(0), 0
    names = [name for name in FILES if (folder / name).exists() and (folder / name).stat().st_size]
    for _ in range(300):
        path = folder / draw.choice(names)
        whole = path.read_bytes()
        data = bytearray(whole)
        for _ in range(draw.choice([1, 1, 4])):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(data)
        read += survives(folder)
        path.write_bytes(whole)
    assert 200 < read < 300  # only a head that is damaged makes a chart unreadable


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a structure of JSON, as where it is and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def mutated(line: bytes, draw: random.Random) -> bytes:
    told = json.loads(line)
    where, key = draw.choice(list(places(told)))
    if draw.random() < 0.2:
        del where[key]
    else:
        where[key] = draw.choice(VALUES)
    return json.dumps(told).encode()


def test_mutated_structures(folder: Path) -> None:
    draw = random.Random(1)
    for _ in range(300):
        path = folder / draw.choice(["chart.json", "events.jsonl", "scalars.jsonl"])
        whole = path.read_bytes()
        lines = whole.splitlines()
        if lines:
            index = draw.randrange(len(lines))
            lines[index] = mutated(lines[index], draw)
            path.write_bytes(b"\n".join(lines) + b"\n")
            survives(folder)
            path.write_bytes(whole)


def with_checksums(data: bytes, change: Callable[[bytes], bytes], part: int) -> bytes:
    """Return blocks of which the first has a changed digest or list, with checksums that fit."""
    magic, *sizes = HEADER.unpack(data[: HEADER.size])[:3]
    middle = HEADER.size + sizes[0]
    parts = [data[HEADER.size : middle], data[middle : middle + sizes[1]]]
    line, newline, columns = zlib.decompress(parts[part]).partition(b"\n")
    parts[part] = zlib.compress(change(line) + newline + columns)
    return pack_record(magic, *parts) + data[middle + sizes[1] :]


@pytest.mark.parametrize("part", [0, 1])
def test_mutated_blocks_whose_checksums_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(files, "ROWS_PER_BLOCK", 3)
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        write(writer)
    path, draw = tmp_path / "run" / "scalars.bin", random.Random(part)
    whole = path.read_bytes()
    for _ in range(300):
        path.write_bytes(with_checksums(whole, lambda line: mutated(line, draw), part))
        assert survives(tmp_path / "run")


@pytest.mark.parametrize("name", FILES)
def test_only_regular_files_are_read(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(UsageError, match=rf"{name}' cannot be read: it is not a regular file"):
        read_all(Chart.open(folder))


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "run").mkdir()
    for name in ("chart.json.tmp", "scalars.bin"):
        (tmp_path / "run" / name).symlink_to(victim)
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        write(writer)
    assert (victim.read_text(), writer.path) == ("mine", tmp_path / "run-2")
    (tmp_path / "run" / "scalars.bin").unlink()
    with closing(ChartWriter(tmp_path / "run", SETUP)) as writer:
        write(writer)
    assert (victim.read_text(), writer.path) == ("mine", tmp_path / "run")
