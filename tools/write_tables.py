"""Write the tables of problems, remedies and checkup tests into their pages.

python -m tools.write_tables            # after a docstring or a profile has changed
python -m tools.write_tables --check    # exit code 1 if a table is out of date
"""

import sys
from collections.abc import Iterable
from inspect import getdoc
from pathlib import Path

from sickbay import problems, remedies
from sickbay.checkups.statements import EVERY
from sickbay.plugins import classes_in
from sickbay.problems.profiles import profiles_of
from sickbay.problems.shared.base import Problem
from sickbay.remedies.base import Remedy

DOCS = Path(__file__).parents[1] / "docs"


def main(check: bool) -> int:
    """Bring every table up to date, or only say which are not."""
    stale = 0
    for page, name, rows in tables():
        path = DOCS / page
        text = path.read_text(encoding="utf-8")
        head, start, rest = text.partition(f"<!-- {name} -->\n")
        table, end, tail = rest.partition(f"<!-- /{name} -->")
        columns = table.splitlines(keepends=True)[:2]
        new = head + start + "".join([*columns, *(f"{row}\n" for row in rows)]) + end + tail
        if new != text:
            stale += 1
            print(f"{page}: the table of {name} {'is out of date' if check else 'is written'}")
        if not check:
            path.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


def tables() -> Iterable[tuple[str, str, list[str]]]:
    """Yield page, name and rows of every table."""
    found = classes_in(problems, Problem).items()  # type: ignore[type-abstract]
    rows = [
        f"| `{name}` | {summary(kind)} | {', '.join(profiles_of(name))} |" for name, kind in found
    ]
    yield "reference/problems.md", "problems", rows

    cures = classes_in(remedies, Remedy).items()  # type: ignore[type-abstract]
    rows = [f"| `{name}` | {summary(kind)} | {kind.safety} |" for name, kind in cures]
    yield "reference/remedies.md", "remedies", rows

    rows = [
        f"| `{kind.name()}` | {kind.statement()} | "
        f"{kind.severity}{' (optional)' if kind.optional else ''} |"
        for kind in EVERY
    ]
    yield "guide/checkup.md", "tests", rows


def summary(kind: type) -> str:
    """Return the first line of a docstring."""
    return (getdoc(kind) or "").partition("\n")[0]


if __name__ == "__main__":
    raise SystemExit(main("--check" in sys.argv))
