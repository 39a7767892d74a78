"""Decide whether the outcome of an input is right."""

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
SAID = 300  # characters of a message to keep


class Mine(Exception):  # noqa: N818 - said of what the user's own objects raise
    """Raised by the user's own objects. It may reach the user, but not from the loop."""


class TooLong(BaseException):  # not an Exception, so that no guard catches it
    """An input took longer than allowed."""


class Unclean(Exception):  # noqa: N818
    """The output contains terminal control characters."""


class WrongExit(Exception):  # noqa: N818
    """A command ended with an unexpected exit code."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of an input.

    Attributes:
        number: The number of the input.
        what: Describes the input.
        happened: The kind of outcome. Only "failure" is wrong.
        error: The class of the exception.
        place: The innermost line of sickbay in its traceback.
        said: The message of the exception.
    """

    number: int
    what: str
    happened: Happened
    error: str = ""
    place: str = ""
    said: str = ""


def judge(number: int, what: str, error: BaseException | None, loop: bool) -> Verdict:
    """Return the verdict on an input that returned or raised `error`.

    In the loop, only exceptions that a user has asked for (`Diagnosed`) are right.
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
    """Return whether a call of ours failed only because of an unknown keyword."""
    return len(places) == 1 and "() got an unexpected keyword argument" in str(error)


def inside(trace: TracebackType | None) -> Iterator[str]:
    """Yield the lines of sickbay in a traceback, outermost first."""
    for frame in traceback.extract_tb(trace):
        if frame.filename.startswith(SOURCES):
            yield f"{frame.filename[len(SOURCES) + 1 :]}:{frame.lineno} {frame.name}"


def outside(trace: TracebackType | None) -> str:
    """Return the innermost line of a traceback that has no line of sickbay."""
    frames = traceback.extract_tb(trace)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def short(error: BaseException) -> str:
    r"""Return the message of an exception, shortened.

    >>> short(ValueError("a\\nb"))
    'a b'
    """
    try:
        text = str(error)
    except Exception:  # a custom __str__ that raises
        return "(its message raises)"
    return plain(" ".join(text[:SAID].split()))


def plain(text: str) -> str:
    r"""Escape everything but printable ASCII.

    >>> plain("\x1b[31m\ud800")
    '\\x1b[31m\\ud800'
    """
    return "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in text)
