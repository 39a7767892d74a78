"""Lists of names, counts and errors as they read in a message."""

from collections.abc import Sequence

from sickbay.printable import error_message


def several(
    names: Sequence[str], total: int | None = None, singular: str = "", plural: str = ""
) -> str:
    """Return the first name, how many more there are, and the verb that agrees with them.

    >>> several(["a.weight"]), several(["a", "b", "c"], 8), several(["a", "b"], None, "is", "are")
    ('a.weight', 'a and 2 more of 8', 'a and 1 more are')
    """
    rest = len(names) - 1
    text = (names[0] or "the model") + (f" and {rest} more" if rest else "")
    text += f" of {total}" if total and rest else ""
    return " ".join(filter(None, (text, plural if rest else singular)))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "parameter"), counted(3, "parameter")
    ('1 parameter', '3 parameters')
    """
    return f"{count} {noun}" + ("" if count == 1 else "s")


def raised(error: Exception) -> str:
    """Return what an error is, in the words of a result.

    >>> raised(ValueError("no.")), raised(ValueError())
    ('it raised ValueError: no', 'it raised ValueError')
    """
    kind, message = type(error).__name__, error_message(error).rstrip(".")
    return f"it raised {kind}" + (f": {message}" if message != kind else "")
