"""Reading untrusted files, and writing files without following links."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from sickbay.errors import UsageError

MAX_BYTES = 1 << 30  # of a file that is read whole, unless its reader says otherwise
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_regular_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a `UsageError` that names it for anything else.

    A pipe might never be written to, and a device might never end.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise read_error(path, getattr(error, "strerror", None) or error) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise read_error(path, "it is not a regular file")
    with open(number, "rb") as file:
        yield file


def read_file(path: Path, most: int = MAX_BYTES) -> bytes:
    """Return the contents of a regular file of at most `most` bytes."""
    size = file_size(path)
    if size > most:
        raise read_error(path, f"it has {size:,} bytes, at most {most:,} are read")
    return read_range(path, 0, most)


def file_size(path: Path) -> int:
    """Return how many bytes a regular file has."""
    with open_regular_file(path) as file:
        return os.fstat(file.fileno()).st_size


def read_range(path: Path, start: int, stop: int) -> bytes:
    """Return the bytes of a regular file from `start` to `stop`, or to its end if that is less."""
    with open_regular_file(path) as file:
        # Not `stop`: Python would reserve that much memory.
        end = min(stop, os.fstat(file.fileno()).st_size)
        try:
            file.seek(start)
            return file.read(max(0, end - start))
        except OSError as error:
            raise read_error(path, error.strerror or error) from None


def parse_json(data: bytes | str, path: Path | str) -> Any:
    """Return what a JSON text holds; a `UsageError` that names its file if it is not JSON."""
    try:
        return json.loads(data)
    except RecursionError:
        raise read_error(path, "its JSON is nested too deeply") from None
    except ValueError as error:
        raise read_error(path, f"it is not JSON ({error})") from None


def create_file(path: Path) -> FileIO:
    """Create a file to append to, where there must be nothing yet, not even a link."""
    return FileIO(os.open(path, NEW | os.O_APPEND, 0o666), "ab")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    with atomic_writer(path) as file:
        file.write(data)


@contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends without an error.

    Until then it has a random name, which no link of somebody else's can have.
    """
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with open(os.open(draft, NEW, 0o666), "wb") as file:
            yield file
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def read_error(path: Path | str, why: object) -> UsageError:
    """Return the error for a file that cannot be read."""
    return UsageError(f"{str(path)!r} cannot be read: {why}.")


@contextmanager
def usage_error_if_unwritable(path: Path) -> Iterator[None]:
    """Turn the error for a file that cannot be written into a `UsageError` that names it."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{str(path)!r} cannot be written: {why}.") from None
