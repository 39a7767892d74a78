"""Draw the terminal of `sickbay demo` as docs/pictures/demo.svg.

python -m tools.draw_demo

The command really runs, in colour. Progress bars and the paths of temporary files are left out.
"""

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

FILE = Path(__file__).parents[1] / "docs" / "pictures" / "demo.svg"
WIDTH = 110
REDRAWN = re.compile(r"^.*\r(?:\x1b\[2K)?")  # what a progress bar has overwritten
CURSOR = re.compile(r"\x1b\[\??\d*[A-HJ-lhK]")
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # from another server


def main() -> None:
    """Run the demo and write the picture."""
    FILE.parent.mkdir(exist_ok=True)
    lines = ["$ sickbay demo", *demo(), ""]  # rich cuts the descenders of the last line
    FILE.write_text(drawn(lines), encoding="utf-8")


def demo() -> list[str]:
    """Return the lines that the demo leaves on a terminal, with their colours."""
    with tempfile.TemporaryDirectory() as home:
        terminal = {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "SICKBAY_HOME": home}
        command = [sys.executable, "-m", "sickbay", "demo"]
        done = subprocess.run(command, capture_output=True, env=os.environ | terminal, check=True)
    lines = [REDRAWN.sub("", line) for line in done.stdout.decode().split("\n")]
    kept = [CURSOR.sub("", line) for line in lines if "━" not in line and "/tmp" not in line]
    return [line for line, after in pairwise([*kept, ""]) if line.strip() or after.strip()]


def drawn(lines: list[str]) -> str:
    """Return a picture of a terminal with these lines."""
    console = Console(record=True, width=WIDTH, file=StringIO())
    for line in lines:
        console.print(Text.from_ansi(line), highlight=False)
    picture = console.export_svg(title="sickbay", theme=MONOKAI, unique_id="sickbay")
    return FONTS.sub("", picture).replace("<svg ", '<svg xml:space="preserve" ')


if __name__ == "__main__":
    main()
