import os
from pathlib import Path

import pytest

from sickbay import safe_files
from sickbay.errors import UsageError


def test_what_is_written_is_read(tmp_path: Path) -> None:
    safe_files.write_atomically(tmp_path / "a", b"one")
    safe_files.write_atomically(tmp_path / "a", b"two")
    assert safe_files.read_file(tmp_path / "a") == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_in_the_way_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "a").symlink_to(tmp_path / "precious")
    safe_files.write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_text() == "mine"
    assert safe_files.read_file(tmp_path / "a") == b"new"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match=r"directory"):
        safe_files.write_atomically(tmp_path / "a", b"new")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "device", "large"])
def test_the_error_names_an_unreadable_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "large":
        path.write_bytes(b"123456789")
    with pytest.raises(UsageError, match=f"'{path}' cannot be read: "):
        safe_files.read_file(path, most=8)


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000, b"\xff", b"9" * 10_000])
def test_the_error_names_a_file_that_is_not_json(text: bytes) -> None:
    with pytest.raises(UsageError, match=r"'some.json' cannot be read: its? .*JSON"):
        safe_files.parse_json(text, "some.json")
