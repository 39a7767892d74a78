"""What became of an input, and whether that is right."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

import sickbay
from sickbay.errors import SickbayError

SOURCES = str(Path(sickbay.__file__).parent)
Happened = Literal["returned", "refused", "signature", "mine", "exit", "failure"]
SAID = 300  # characters of an exception that are kept


class Mine(Exception):  # noqa: N818 - said of what the user's own objects raise
    """Raised by objects of the user; fine where it reaches the user, but never from the loop."""


class TooLong(BaseException):  # not an Exception: no guard is to swallow it
    """An input has taken longer than it may."""


class Unclean(Exception):  # noqa: N818
    """What was printed would change the terminal."""


class WrongExit(Exception):  # noqa: N818
    """A command has ended with an exit code that it has no reason for."""


@dataclass(frozen=True)
class Verdict:
    """What became of an input.

    Attributes:
        number: The input's own.
        what: Which part it was for, and how it was made.
        happened: What happened; everything but "failure" is right.
        error: The class of the exception.
        place: The innermost line of sickbay that it came through.
        said: The exception in words.
    """

    number: int
    what: str
    happened: Happened
    error: str = ""
    place: str = ""
    said: str = ""


def judge(number: int, what: str, error: BaseException | None, loop: bool) -> Verdict:
    """Say whether it is right that an input has ended so.

    In the loop nothing may come but what a user has asked for (`Diagnosed`).
    """
    what = plain(what)
    if error is None:
        return Verdict(number, what, "returned")
    happened: Happened = "failure"
    places = list(inside(error.__traceback__))
    if isinstance(error, SystemExit) and error.code in (0, 2):
        happened = "exit"
    elif isinstance(error, SickbayError):
        happened = "refused"
    elif isinstance(error, Mine) and not loop:
        happened = "mine"
    elif isinstance(error, TypeError) and (not places or is_of_a_call(error, places)):
        happened = "signature"
    place = places[-1] if places else outside(error.__traceback__)
    said = short(error)
    return Verdict(number, what, happened, type(error).__name__, place, said)


def is_of_a_call(error: TypeError, places: list[str]) -> bool:
    """Tell whether a function of ours refused an argument before it did anything else."""
    return len(places) == 1 and "() got an unexpected keyword argument" in str(error)


def inside(trace: TracebackType | None) -> Iterator[str]:
    """Yield the lines of sickbay that an exception came through, outermost first."""
    for frame in traceback.extract_tb(trace):
        if frame.filename.startswith(SOURCES):
            yield f"{frame.filename[len(SOURCES) + 1 :]}:{frame.lineno} {frame.name}"


def outside(trace: TracebackType | None) -> str:
    """Return the innermost line of all, for what came through none of sickbay."""
    frames = traceback.extract_tb(trace)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def short(error: BaseException) -> str:
    r"""Return an exception in words, however large its text is.

    >>> short(ValueError("a\\nb"))
    'a b'
    """
    try:
        text = str(error)
    except Exception:  # a text of somebody's own that raises
        return "(its text raises)"
    return plain(" ".join(text[:SAID].split()))


def plain(text: str) -> str:
    r"""Return a text that any terminal and any file can take.

    >>> plain("\x1b[31m\ud800")
    '\\x1b[31m\\ud800'
    """
    return "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in text)
