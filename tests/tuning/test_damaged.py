"""Files of recorded trials that are damaged, or made by somebody who means ill."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from sickbay.cli import main
from sickbay.errors import UsageError
from sickbay.tuning.load_search import read
from sickbay.tuning.packed import members
from sickbay.tuning.pool import Pool, load, save
from tests.tuning.made_up import trial
from tests.tuning.test_pool import trials

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
    said = (
        f"{path}: 1 trial is damaged and left out; trial 2: name must be a string, got ['\\x1b']."
    )
    assert capsys.readouterr().err.strip() == f"· sickbay: {said}"


def test_a_pool_with_none_left_is_no_pool(good: Path) -> None:
    path = changed(good, put("trials", 0, value=None))
    with pytest.raises(UsageError, match=r"All trials in '.*changed.zip' are damaged, the first"):
        read(path)


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
        read(written(good, {**parts, name: data}))
    assert "changed.zip' cannot be read" in str(error.value)
    assert why in str(error.value)


def test_a_pool_that_unpacks_to_more_than_is_read(good: Path) -> None:
    with pytest.raises(UsageError, match=r"it unpacks to [\d,]+ bytes, at most 100 are read"):
        members(good, ["pool.json", "scalars.npy"], most=100)


def test_a_member_that_is_not_there(good: Path) -> None:
    with pytest.raises(UsageError, match=r"it must be a pool of recorded trials \(KeyError"):
        read(written(good, {"pool.json": b"{}"}))


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"metric": ["loss"]}, "There is no metric in 'changed' called"),
        ({"metric": "loss", "direction": {"up": 1}}, "There is no direction"),
    ],
)
def test_odd_notes(good: Path, about: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(changed(good, put("about", value=about)))


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(UsageError, match="it is not a regular file"):
            read(source)


@pytest.mark.parametrize("first", [b"", b"{"])
def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "huge").write_bytes(first)
    os.truncate(tmp_path / "huge", 1 << 40)
    with pytest.raises(UsageError, match="huge' cannot be read"):
        read(tmp_path / "huge")


def test_an_address_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        read(f"sqlite+pysqlite:///{tmp_path}/new.db")
    assert not list(tmp_path.iterdir())


COURSE = {"losses": [3, 2], "values": [0.1, None], "first": 4.0, "steps": 30}


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"sickbay:course": 3}, "sickbay:course must be a JSON object, got 3."),
        ({"sickbay:course": {**COURSE, "losses": "abc"}}, "losses must be a list"),
        ({"sickbay:course": {**COURSE, "values": [[]]}}, "values must be a number"),
        ({"sickbay:course": {**COURSE, "first": "x"}}, "first must be a number"),
        ({"sickbay:course": {**COURSE, "steps": -1}}, "steps must be a whole number"),
        ({"sickbay:course": COURSE, "sickbay:epochs": "3"}, "sickbay:epochs must be a whole"),
    ],
)
def test_a_damaged_trial_of_a_study(tmp_path: Path, attributes: dict[str, Any], why: str) -> None:
    file = tmp_path / "study.log"
    study = optuna.create_study(storage=JournalStorage(JournalFileBackend(str(file))))
    for each in (attributes, {"sickbay:course": COURSE, "sickbay:metric": ["odd"]}):
        asked = study.ask()
        for name, value in each.items():
            asked.set_user_attr(name, value)
    notices: list[str] = []
    assert [each.name for each in read(file, notice=notices.append).trials] == ["trial-1"]
    (said,) = notices
    assert said.startswith(f"{file}: 1 trial is damaged and left out; trial 0: ")
    assert why in said


def test_a_storage_that_breaks_while_its_trials_are_read(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=storage, study_name="mine")
    study.ask().set_user_attr("sickbay:course", COURSE)
    data = (tmp_path / "study.db").read_bytes()
    broken = data.replace(b'{"losses": [3, 2]', b'{"losses": [3, 2}')
    assert broken != data
    (tmp_path / "study.db").write_bytes(broken)
    with pytest.raises(UsageError, match=r"study.db' cannot be read \(JSONDecodeError"):
        read(storage)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(UsageError, match=r"'nosql://me:\*\*\*@host/db' cannot be read") as error:
        read("nosql://me:secret@host/db")
    assert "secret" not in str(error.value)
