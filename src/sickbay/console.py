"""rich, imported without touching the user's random state.

rich draws a number from `random` when it is imported, which would change a loop that uses `random`
too. So the rest of sickbay imports rich from here.
"""

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
    """A console that falls silent when nobody reads it; rich's own ends the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
