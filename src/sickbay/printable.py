"""Making text safe to print: names and errors may hold anything, and terminals obey it."""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

LONG = 400  # characters of an error that are shown
KEPT = "\n\t"
HARMFUL = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # categories of control characters
JOINERS = "\u200c\u200d\ufe0f\u00ad"  # part of words and emoji


def printable(text: str) -> str:
    r"""Escape every character that a terminal would obey.

    >>> print(printable("loss\x1b[31m of layer\r1"))
    loss\x1b[31m of layer\r1
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape, text))


def one_line(text: str) -> str:
    r"""Return a text as one line that is safe to print.

    >>> print(one_line("a\nb\x07"))
    a b\x07
    """
    return printable(" ".join(line.strip() for line in text.splitlines()))


@contextmanager
def raising(kind: type[Exception], what: str) -> Iterator[None]:
    """Turn any exception into one of this kind, whose message is `what` and the reason."""
    try:
        yield
    except Exception as error:
        raise kind(f"{what}: {error_message(error)}") from error


def error_message(error: BaseException) -> str:
    r"""Return the most telling line of an error, as the end of a sentence.

    That is the last one, except where CUDA adds advice or torch adds a traceback.

    >>> error_message(RuntimeError("CUDA error: out of paper\nCompile with `DSA`."))
    'CUDA error: out of paper.'
    """
    lines = _text(error).strip().splitlines() or [type(error).__name__]
    first = lines[0].startswith("CUDA error") or any("Exception raised from" in x for x in lines)
    line = one_line(lines[0] if first else lines[-1]).rstrip(".")
    return f"{line[:LONG]}…" if len(line) > LONG else f"{line}."


def error_summary(error: BaseException) -> str:
    r"""Return the class and message of an error as one line that is safe to print.

    >>> error_summary(OSError("it is\n  gone"))
    'OSError: it is gone'
    """
    kind, text = type(error).__name__, one_line(_text(error))
    return f"{kind}: {text if len(text) <= LONG else text[:LONG] + ' …'}" if text else kind


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a broken exception class of the user's
        return ""


def _escape(character: str) -> str:
    if character in KEPT or character in JOINERS:
        return character
    if unicodedata.category(character) in HARMFUL:
        return character.encode("unicode_escape").decode("ascii")
    return character
