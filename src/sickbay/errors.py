"""Every exception a user can meet.

SickbayError
├── UsageError   an argument or file that cannot be used; also a ValueError
├── Declined     a change to a model that cannot be made safely
│   └── Needless one that would change nothing
└── Diagnosed    raised by `on_finding="stop"`; carries the findings
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sickbay.findings import Finding

MOST_NAMES = 60  # if there are more, only the nearest are listed
MOST_CHARACTERS = 120  # of a wrong name that are shown


class SickbayError(Exception):
    """The base of every exception that sickbay raises on purpose."""


class UsageError(SickbayError, ValueError):
    """An unusable argument or file. The message says what was given and what is allowed."""


class Declined(SickbayError):  # noqa: N818 - said as a sentence: the change was declined
    """A change to a model that cannot be made safely; the message says why."""


class Needless(Declined):
    """A change to a model that has nothing to change; the message says why."""


class Diagnosed(SickbayError):  # noqa: N818 - said as a sentence: training was diagnosed
    """Training was stopped because something is wrong with it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(list(findings))
        self.findings = list(findings)

    def __str__(self) -> str:
        return "; ".join(str(finding) for finding in self.findings)


def unknown_name(what: str, given: str, possible: Iterable[str]) -> UsageError:
    """Return the error for a name that does not exist.

    >>> print(unknown_name("profile", "defualt", ["autotrainer", "default"]))
    There is no profile 'defualt'; did you mean 'default'? Possible: 'autotrainer', 'default'.
    """
    names = sorted(possible)
    if len(given) > MOST_CHARACTERS:
        given = f"{given[:MOST_CHARACTERS]}…"
    close = get_close_matches(given, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    shown = names if len(names) <= MOST_NAMES else get_close_matches(given, names, 9, 0.0)
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return UsageError(f"There is no {what} {given!r}{hint} Possible: {str(shown)[1:-1]}{more}.")
