"""Files of a repair that are damaged, hostile, or cannot be written."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sickbay.repairs import journal, run_files
from tests.repairs.datasets import refused
from tests.repairs.resumable import Net, made, run


class Hostile:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_a_file_runs_nothing(tmp_path: Path) -> None:
    run(tmp_path / "run")
    file, trace = tmp_path / "run" / "attempt-0.pt", tmp_path / "trace"
    for save in (torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))):
        save((("None", "", ""), Hostile(trace)), file)
        told = refused(lambda: run(tmp_path / "run", resume=True))
        assert told.startswith(f"{str(file)!r} cannot be read: ")
        assert not trace.exists()


def spoil_the_text(**changes: Any) -> Callable[[Path], object]:
    def spoil(file: Path) -> None:
        kept = torch.load(file, weights_only=True)
        told = json.loads(kept["told"])
        told.update(changes)
        torch.save({**kept, "told": json.dumps(told)}, file)

    return spoil


def spoil(**changes: Any) -> Callable[[Path], object]:
    return lambda file: torch.save({**torch.load(file, weights_only=True), **changes}, file)


def without_heats(file: Path) -> None:
    spoil_the_text(reports=[])(file)
    spoil(examples=[])(file)


def make_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def make_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def point_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


SPOILT: list[Callable[[Path], object]] = [
    lambda file: file.write_bytes(b""),
    lambda file: file.write_bytes(file.read_bytes()[:-500]),
    lambda file: file.write_bytes(os.urandom(3000)),
    lambda file: torch.save([1, 2], file),
    lambda file: torch.save({"format": 1}, file),
    make_a_pipe,
    point_to_nothing,
    make_a_folder,
    spoil(best={}),
    spoil(best={"first.weight": torch.ones(3)}),
    spoil(best=[1]),
    spoil(healthy={1: 2}),
    spoil(examples=None),
    spoil(told=3),
    spoil(told="{"),
    spoil(told="[" * 100_000),
    spoil(told="[]"),
    spoil_the_text(over="yes"),
    spoil_the_text(reports=3),
    spoil_the_text(reports=[]),
    without_heats,
    spoil_the_text(reports=[{"epochs": "many"}]),
    spoil_the_text(reports=[{"finding": {"problem": "x"}}]),
    spoil_the_text(reports=[{"finding": {"problem": "x", "step": 1, "severity": "odd"}}]),
    spoil_the_text(reports=[{"error": "x"}]),
    spoil_the_text(reports=[{"example": ["x"]}]),
    spoil_the_text(best={"a": 1}),
]


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda each: str(SPOILT.index(each)))
def test_a_damaged_record(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    run(tmp_path / "run")
    file = tmp_path / "run" / "attempt-0.pt"
    spoil(file)
    told = refused(lambda: run(tmp_path / "run", resume=True))
    assert told.startswith(f"{str(file)!r} cannot be read: ")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\xff\xfe{"),
        lambda file: file.write_text("[1]"),
        lambda file: file.write_text("[" * 9000),
        lambda file: file.write_bytes(bytes(20_000)),
        make_a_pipe,
        point_to_nothing,
    ],
    ids=range(7),
)
def test_a_damaged_fingerprint(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    run(tmp_path / "run")
    file = tmp_path / "run" / journal.FINGERPRINT
    spoil(file)
    told = refused(lambda: run(tmp_path / "run", resume=True))
    assert told.startswith(f"{str(file)!r} cannot be read: ")


def test_links_and_pipes_are_not_written_through(tmp_path: Path) -> None:
    run(tmp_path / "run")
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in (journal.ATTEMPTS, journal.OUTCOME):
        (tmp_path / "run" / name).unlink()
    (tmp_path / "run" / journal.OUTCOME).symlink_to(precious)
    os.mkfifo(tmp_path / "run" / journal.ATTEMPTS)
    run(tmp_path / "run", resume=True)
    assert precious.read_text() == "mine"
    assert json.loads((tmp_path / "run" / journal.OUTCOME).read_text())["solved"] is not None
    assert len((tmp_path / "run" / journal.ATTEMPTS).read_text().splitlines()) == 1


def test_a_folder_of_something_else_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("")
    told = refused(lambda: run(tmp_path, resume=True))
    assert told == (
        f"{str(tmp_path)!r} holds no repair to resume, but other files, such as 'photo.jpg'."
    )


class Odd(Net):
    """Keeps something that is no tensor."""

    def get_extra_state(self) -> Any:
        return {"words": ["a"]}

    def set_extra_state(self, state: Any) -> None: ...


def test_a_model_that_keeps_more_than_tensors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(tmp_path / "run", model=made(Odd), progress=True)
    assert outcome.attempts
    assert "attempt 0 cannot be resumed later" in capsys.readouterr().err
    assert run(tmp_path / "run", model=made(Odd), resume=True).score == outcome.score


def test_what_cannot_be_written_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_files, "save", full)
    run(tmp_path / "run", progress=True)
    assert "attempt 0 cannot be resumed later: [Errno 28] No space left" in capsys.readouterr().err
