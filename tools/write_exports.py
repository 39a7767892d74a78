"""Write the imports of `sickbay.problems` and `sickbay.remedies`: `python -m tools.write_exports`.

The imports let type checkers and editors know `sickbay.problems.VanishingGradient` and its
thresholds. They follow from the files: the class in `vanishing_gradient.py` is `VanishingGradient`.
Of two files with the same name, the one nearer to the top counts, then the first by the alphabet. A
test fails if the imports are out of date.
"""

import re
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PAPERS = sorted(SOURCE.glob("sickbay/problems/published/*/__init__.py"))
PACKAGES = (
    "sickbay/problems",
    *(path.parent.relative_to(SOURCE).as_posix() for path in PAPERS),
    "sickbay/remedies",
)
# Names beside the problems and remedies themselves, with their files.
MORE: Mapping[str, Mapping[str, str]] = {
    "sickbay/problems": {"Problem": "shared/base.py"},
    "sickbay/problems/published/bttackler": {"problems": "rules.py"},
    "sickbay/remedies": {"Fitted": "fit_loss_to_task.py", "Remedy": "base.py"},
}
START = "# Written by `make exports`.\n"
END = "\n# End of what `make exports` has written.\n"


def exports(package: str) -> str:
    """Return the text of a package's `__init__.py` with its imports up to date."""
    folder = SOURCE / package
    head, _, rest = (folder / "__init__.py").read_text(encoding="utf-8").partition(START)
    _, end, tail = rest.partition(END)
    files = {name: folder / path for name, path in MORE.get(package, {}).items()}
    for path in sorted(
        folder.rglob("*.py"), key=lambda path: (len(path.parts), path), reverse=True
    ):
        name = path.stem.title().replace("_", "")
        if re.search(rf"^class {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            files[name] = path
    lines = []
    for name, path in files.items():
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        lines.append(f"from .{module} import {name} as {name}\n")
    return head + START + "".join(sorted(lines)) + end + tail


def main() -> None:
    """Bring the imports of every package up to date."""
    for package in PACKAGES:
        (SOURCE / package / "__init__.py").write_text(exports(package), encoding="utf-8")


if __name__ == "__main__":
    main()
