"""Making text safe to print: names and errors may hold anything, terminals obey what they get."""

from __future__ import annotations

import unicodedata

LONG = 400  # characters of an error that are told
KEPT = "\n\t"
HARMFUL = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # control and format characters, no text
JOINERS = "\u200c\u200d\ufe0f\u00ad"  # part of words and emoji


def printable(text: str) -> str:
    r"""Return a text with everything that a terminal would obey made visible.

    >>> print(printable("loss\x1b[31m of layer\r1"))
    loss\x1b[31m of layer\r1
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def one_line(text: str) -> str:
    r"""Return a text as one line that is safe to print.

    >>> print(one_line("a\nb\x07"))
    a b\x07
    """
    return printable(" ".join(line.strip() for line in text.splitlines()))


def error_message(error: BaseException) -> str:
    r"""Return the line of an error that says most, as the end of a sentence.

    That is the last one; CUDA ends its errors with advice, and torch with a traceback of its own.

    >>> error_message(RuntimeError("CUDA error: out of paper\nCompile with `DSA`."))
    'CUDA error: out of paper.'
    """
    try:
        lines = str(error).strip().splitlines() or [type(error).__name__]
    except Exception:  # an exception of somebody's own that has no text
        lines = [type(error).__name__]
    first = lines[0].startswith("CUDA error") or any("Exception raised from" in x for x in lines)
    line = one_line(lines[0] if first else lines[-1]).rstrip(".")
    return f"{line[:LONG]}…" if len(line) > LONG else f"{line}."


def error_summary(error: BaseException) -> str:
    r"""Return an error as one line that is safe to print and not too long.

    >>> error_summary(OSError("it is\n  gone"))
    'OSError: it is gone'
    """
    kind = type(error).__name__
    try:
        text = one_line(str(error))
    except Exception:  # somebody's own error that cannot be told
        return kind
    return f"{kind}: {text if len(text) <= LONG else text[:LONG] + ' …'}" if text else kind


def _shown(character: str) -> str:
    if character in KEPT or character in JOINERS:
        return character
    if unicodedata.category(character) in HARMFUL:
        return character.encode("unicode_escape").decode("ascii")
    return character
