"""How lists of names read in a message."""

from collections.abc import Sequence


def several(names: Sequence[str], total: int | None = None) -> str:
    """Return the first name, and how many more there are.

    >>> several(["a.weight"]), several(["a", "b", "c"], 8)
    ('a.weight', 'a and 2 more of 8')
    """
    more = len(names) - 1
    rest = f" and {more} more" if more > 0 else ""
    return (names[0] or "the model") + rest + (f" of {total}" if total and more > 0 else "")
