"""Tables of what would have become of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sickbay.console import Table, Text
from sickbay.printable import one_line

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from sickbay.tuning.board import Tally
    from sickbay.tuning.calibration import Calibration
    from sickbay.tuning.replay import Ended, Judged, Replay

FEW = 40  # trials of which the ten best are more than a quarter
SHOWN = 10  # trials that are listed unless all are asked for
COLUMNS = ("trial", "place", "reached", "by then", "epoch", "lost of", "ended by", "because")
LEAST = 20  # characters that a reason is worth telling in
NUMBERS = ("place", "reached", "by then", "epoch")


def heading(replay: Replay, profile: str) -> str:
    """Return what was judged."""
    search = replay.search
    better = "higher" if search.maximize else "lower"
    few = (
        "\nSo few trials that the ten best are not all good ones."
        if len(search.trials) < FEW
        else ""
    )
    cut = sum(len(each.epochs) < (each.setup.epochs or 0) for each in search.trials)
    short = f"\n{cut} of them have not run all their epochs: what that saved is not in it."
    return (
        f"{one_line(search.name)}: {len(search.trials)} trials, {duration(search.seconds)}; "
        f"{one_line(search.metric)}, {better} is better; profile {profile}"
        f"{few}{short if cut else ''}"
    )


def indicators(replay: Replay) -> Table:
    """Return a table with a row for each indicator alone, and one for all together."""
    table = Table(box=None, pad_edge=False)
    table.add_column(
        "indicator", min_width=max((len(each.name) for each in replay.alone), default=0)
    )
    best = "lost of best 10", f"of best {replay.search.tenth}"
    for head in ("ended", "benign", "epoch", "saved", *best):
        table.add_column(head, justify="right")
    for judged in replay.alone:
        table.add_row(*_cells(judged))
    table.add_section()
    table.add_row(*_cells(replay.together), style="bold")
    return table


def ended_trials(judged: Judged, width: int, every: bool = False) -> Table:
    """Return a table of the trials that would have been ended, the best first."""
    ranked = sorted(judged.ended, key=lambda each: each.place)
    rows = [_row(each) for each in (ranked if every else ranked[:SHOWN])]
    wide = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    table = Table(box=None, pad_edge=False)
    for head, size in zip(COLUMNS[:-1], wide, strict=False):
        justify: JustifyMethod = "right" if head in NUMBERS else "left"
        table.add_column(head, justify=justify, min_width=size, no_wrap=True)
    left = width - sum(size + 2 for size in wide[:-1])
    if left >= LEAST:
        table.add_column(COLUMNS[-1], no_wrap=True)
    for row in rows:
        said = [shortened(row[-1], left)] if left >= LEAST else []
        table.add_row(*map(Text, [*row[:-1], *said]))
    return table


def folds(calibration: Calibration) -> Table:
    """Return a table of what calibrating was worth on the trials that were left out of it."""
    table = Table(box=None, pad_edge=False)
    table.add_column("left out")
    for head in ("trials", "before", "lost", "after", "lost"):
        table.add_column(head, justify="right")
    for fold in calibration.folds:
        row = *_tally(fold.before), *_tally(fold.after)
        table.add_row(Text(one_line(fold.name)), str(fold.trials), *row)
    table.add_section()
    count = str(sum(fold.trials for fold in calibration.folds))
    row = *_tally(calibration.before), *_tally(calibration.held_out)
    table.add_row("each once", count, *row, style="bold")
    row = *_tally(calibration.before), *_tally(calibration.after)
    table.add_row("none", count, *row)
    return table


def recommended(calibration: Calibration, settings: Sequence[str]) -> str:
    """Return the settings that calibrating has found, as they can be given, and what to think."""
    if not settings:
        return "The profile is best as it is."
    told = "Calibrated on all: " + " ".join(f"--set {each}" for each in settings)
    if not calibration.held_out.is_safe:
        told += "\nWhat was left out lost good trials: do not rely on it for other searches."
    return told


def shortened(text: str, width: int) -> str:
    """Return the beginning of a text.

    >>> shortened("never", 5), shortened("never learnt", 5)
    ('never', 'neve…')
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"


def duration(seconds: float) -> str:
    """Return a time that people can read.

    >>> duration(50), duration(4865), duration(99999)
    ('50 seconds', '81 minutes', '27.8 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _cells(judged: Judged) -> tuple[str, ...]:
    epoch = "" if judged.epoch is None else f"{judged.epoch:g}"
    lost = str(judged.lost_of_ten), str(judged.lost_of_tenth)
    ended, benign = str(len(judged.ended)), str(judged.benign)
    return judged.name, ended, benign, epoch, f"{judged.saved:.1%}", *lost


def _row(ended: Ended) -> tuple[str, ...]:
    lost = "best 10" if ended.lost_of_ten else "best 10 %" if ended.lost_of_tenth else ""
    values = f"{ended.reached:.4g}", f"{ended.kept:.4g}"
    finding = ended.finding
    place, epoch = str(ended.place), str(ended.epoch)
    told = map(one_line, (finding.problem, finding.message))
    return one_line(ended.trial), place, *values, epoch, lost, *told


def _tally(tally: Tally) -> tuple[str, str]:
    lost = f"{tally.lost_of_ten} of {tally.ten}, {tally.lost_of_tenth} of {tally.tenth}"
    return f"{tally.saved:.1%}", lost
