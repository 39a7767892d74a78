"""rich, imported so that no random number of the user's is drawn.

rich draws one from `random` when it is imported: a loop that draws from there too would go another
way from then on. So everybody here imports rich from this module.
"""

from __future__ import annotations

import random

_state = random.getstate()
try:
    from rich.console import Console as Console
    from rich.markup import escape as escape
    from rich.progress import BarColumn as BarColumn
    from rich.progress import MofNCompleteColumn as MofNCompleteColumn
    from rich.progress import Progress as Progress
    from rich.progress import TextColumn as TextColumn
    from rich.progress import TimeElapsedColumn as TimeElapsedColumn
    from rich.table import Column as Column
    from rich.table import Table as Table
    from rich.text import Text as Text
finally:
    random.setstate(_state)


class Screen(Console):
    """A console of our own: where nobody reads any more it falls silent; rich ends the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
