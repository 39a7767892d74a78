"""Studies and files that are damaged or hostile."""

import os
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from sickbay.errors import UsageError
from sickbay.tuning.load_search import read


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(UsageError, match="it is not a regular file"):
            read(source)


def test_a_journal_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "huge").write_bytes(b"{")
    os.truncate(tmp_path / "huge", 1 << 40)
    with pytest.raises(UsageError, match="huge' cannot be read"):
        read(tmp_path / "huge")


def test_an_address_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        read(f"sqlite+pysqlite:///{tmp_path}/new.db")
    assert not list(tmp_path.iterdir())


CURVE = {"losses": [3, 2], "values": [0.1, None], "first": 4.0, "steps": 30}


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"sickbay:course": 3}, "sickbay:course must be a JSON object, got 3."),
        ({"sickbay:course": {**CURVE, "losses": "abc"}}, "losses must be a list"),
        ({"sickbay:course": {**CURVE, "values": [[]]}}, "values must be a number"),
        ({"sickbay:course": {**CURVE, "first": "x"}}, "first must be a number"),
        ({"sickbay:course": {**CURVE, "steps": -1}}, "steps must be a whole number"),
        ({"sickbay:course": CURVE, "sickbay:epochs": "3"}, "sickbay:epochs must be a whole"),
    ],
)
def test_a_damaged_trial_of_a_study(tmp_path: Path, attributes: dict[str, Any], why: str) -> None:
    file = tmp_path / "study.log"
    study = optuna.create_study(storage=JournalStorage(JournalFileBackend(str(file))))
    for each in (attributes, {"sickbay:course": CURVE, "sickbay:metric": ["odd"]}):
        asked = study.ask()
        for name, value in each.items():
            asked.set_user_attr(name, value)
    notices: list[str] = []
    assert [each.name for each in read(file, notice=notices.append).trials] == ["trial-1"]
    (said,) = notices
    assert said.startswith(f"{file}: skipped 1 damaged trial; trial 0: ")
    assert why in said


def test_a_storage_that_breaks_while_its_trials_are_read(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(storage=storage, study_name="mine")
    study.ask().set_user_attr("sickbay:course", CURVE)
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
