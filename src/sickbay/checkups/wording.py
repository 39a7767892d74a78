"""How lists of names and counts read in a message."""

from collections.abc import Sequence


def several(names: Sequence[str], total: int | None = None, one: str = "", more: str = "") -> str:
    """Return the first name, how many more there are, and the verb that goes with so many.

    >>> several(["a.weight"]), several(["a", "b", "c"], 8), several(["a", "b"], None, "is", "are")
    ('a.weight', 'a and 2 more of 8', 'a and 1 more are')
    """
    rest = len(names) - 1
    told = (names[0] or "the model") + (f" and {rest} more" if rest else "")
    told += f" of {total}" if total and rest else ""
    said = verb(names, one, more)
    return f"{told} {said}" if said else told


def verb(names: Sequence[str], one: str, more: str) -> str:
    """Return the verb that goes with so many names.

    >>> verb(["a"], "is", "are"), verb(["a", "b"], "is", "are")
    ('is', 'are')
    """
    return one if len(names) == 1 else more


def counted(count: int, thing: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "parameter"), counted(3, "parameter")
    ('1 parameter', '3 parameters')
    """
    return f"{count} {thing}" + ("" if count == 1 else "s")
