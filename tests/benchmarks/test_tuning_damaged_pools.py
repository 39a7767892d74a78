"""Pools that are damaged or hostile."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from benchmarks.tuning.__main__ import main
from benchmarks.tuning.packed_arrays import members
from benchmarks.tuning.pool import Pool, load, read_pool, save
from sickbay.errors import UsageError
from tests.benchmarks.test_tuning_pool import trials
from tests.tuning.sample_problems import trial

Head = dict[str, Any]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A pool of a trial with tables, one without epochs and two more."""
    listed = [*trials(), trial("c", [3, 2]), trial("d", [3, 1])]
    save(Pool("task", {"metric": "loss", "direction": "minimize"}, listed), tmp_path / "good.zip")
    return tmp_path / "good.zip"


def changed(good: Path, change: Callable[[Head], object]) -> Path:
    """Return a copy of a pool whose head is changed."""
    with ZipFile(good) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    head = json.loads(parts["pool.json"])
    change(head)
    return written(good, {**parts, "pool.json": json.dumps(head).encode()})


def written(good: Path, parts: dict[str, bytes]) -> Path:
    path = good.with_name("changed.zip")
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return path


def put(*keys: str | int, value: Any) -> Callable[[Head], object]:
    """Return what puts a value somewhere into a head."""

    def change(head: Any) -> None:
        for key in keys[:-1]:
            head = head[key]
        head[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (put("trials", 0, "name", value=3), "trial 0: name must be a string, got 3."),
        (put("trials", 0, "setup", value=[]), "trial 0: Setup must be a JSON object"),
        (put("trials", 0, "setup", "epochs", value="2"), "epochs must be a whole number"),
        (put("trials", 0, "setup", "shapes", value={"a": 3}), "shapes must be a list"),
        (put("trials", 0, "first", value={"loss": []}), "first must be a number"),
        (put("trials", 0, "about", value=None), "about must be a JSON object"),
    ],
)
def test_a_damaged_trial_is_left_out(
    good: Path, change: Callable[[Head], object], why: str
) -> None:
    pool = load(changed(good, change))
    assert [each.name for each in pool.trials] == ["task/4", "c", "d"]
    assert [each.scalars["loss"] for each in pool.trials[-1].epochs] == [3, 1]
    (said,) = pool.damaged
    assert why in said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (put("trials", 2, value=7), "trial 2: a trial must be a JSON object, got 7."),
        (put("trials", 2, "tables", value=3), "tables must be a list, got 3."),
        (put("trials", 2, "rows", value=[["a", 3]]), "rows must be a string, got 3."),
        (put("trials", 2, "tables", value=[[["gradient", 1]]]), "a table must be its kind, step"),
        (put("trials", 2, "tables", value=[[["odd", 1, 0]]]), "There is no kind of table 'odd'"),
        (put("trials", 2, "tables", value=[[["weight", 1, 0]]]), "rows must be a whole number"),
        (put("trials", 2, "tables", value=[[["weight", -1, 0]]]), "step must be a whole number"),
        (put("trials", 2, "tables", value=[[]] * 9), "scalars.npy has"),
    ],
)
def test_where_numbers_can_no_longer_be_told_apart_the_rest_is_left_out(
    good: Path, change: Callable[[Head], object], why: str
) -> None:
    pool = load(changed(good, change))
    assert [each.name for each in pool.trials] == ["task/3", "task/4"]
    assert len(pool.damaged) == 2
    assert why in pool.damaged[0]


def test_what_is_left_out_is_said_in_one_line(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(good, put("trials", 2, "name", value=["\x1b"]))
    assert main(["replay", str(path)]) == 0
    said = f"{path}: skipped 1 damaged trial; trial 2: name must be a string, got ['\\x1b']."
    assert capsys.readouterr().err.strip() == f"· sickbay: {said}"


def test_a_pool_with_none_left_is_no_pool(good: Path) -> None:
    path = changed(good, put("trials", 0, value=None))
    with pytest.raises(UsageError, match=r"All trials in '.*changed.zip' are damaged, the first"):
        read_pool(path)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("pool.json", b"[" * 100_000, "nested too deeply"),
        ("pool.json", b"[]", "pool.json must be a JSON object"),
        ("pool.json", b"{", "it is not JSON"),
        ("scalars.npy", b"", "scalars.npy must be an array of numbers as long as it says"),
        (
            "weight.npy",
            b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': True, "
            b"'shape': (4, 99999999999), }\n",
            "weight.npy must be an array of numbers as long as it says",
        ),
        ("gradient.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O'}\n", "gradient.npy must be an"),
    ],
)
def test_members_that_are_not_what_they_say(good: Path, name: str, data: bytes, why: str) -> None:
    with ZipFile(good) as file:
        parts = {each: file.read(each) for each in file.namelist()}
    with pytest.raises(UsageError) as error:
        read_pool(written(good, {**parts, name: data}))
    assert "changed.zip' cannot be read" in str(error.value)
    assert why in str(error.value)


def test_a_pool_that_unpacks_to_more_than_is_read(good: Path) -> None:
    with pytest.raises(UsageError, match=r"it unpacks to [\d,]+ bytes, at most 100 are read"):
        members(good, ["pool.json", "scalars.npy"], most=100)


def test_a_member_that_is_not_there(good: Path) -> None:
    with pytest.raises(UsageError, match=r"it must be a pool of recorded trials \(KeyError"):
        read_pool(written(good, {"pool.json": b"{}"}))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"metric": ["loss"]}, "There is no metric in 'changed' called"),
        ({"metric": "loss", "direction": {"up": 1}}, "There is no direction"),
    ],
)
def test_odd_notes(good: Path, about: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_pool(changed(good, put("about", value=about)))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 1 << 40)
    with pytest.raises(UsageError, match="huge' cannot be read"):
        read_pool(tmp_path / "huge")
