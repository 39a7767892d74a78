"""Tables of the results of `sickbay replay`.

They take the same plain values that `--json` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

from sickbay.console import Table, Text
from sickbay.printable import one_line

if TYPE_CHECKING:
    from rich.console import JustifyMethod

Json: TypeAlias = Mapping[str, Any]
FEW_TRIALS = 40  # below this, the ten best are more than a quarter of all
LISTED = 10  # trials, unless all are asked for
COLUMNS = ("trial", "place", "reached", "by then", "epoch", "lost of", "ended by", "because")
NUMBERS = ("place", "reached", "by then", "epoch")
MIN_REASON_WIDTH = 20


def heading(replay: Json, profile: str) -> str:
    """Return a description of the search."""
    trials, cut = replay["trials"], replay["unfinished_trials"]
    better = "higher" if replay["direction"] == "maximize" else "lower"
    lines = [
        f"{one_line(replay['search'])}: {trials} trials, {duration(replay['seconds'])}; "
        f"{one_line(replay['metric'])}, {better} is better; profile {profile}"
    ]
    if trials < FEW_TRIALS:
        lines.append("With so few trials, not all of the ten best are good ones.")
    if cut:
        lines.append(f"{cut} of them did not run all their epochs; what that saved is not counted.")
    return "\n".join(lines)


def indicators(replay: Json) -> Table:
    """Return a table with a row for each indicator alone, and one for all together."""
    table = Table(box=None, pad_edge=False)
    widest = max((len(each["name"]) for each in replay["indicators"]), default=0)
    table.add_column("indicator", min_width=widest)
    best = "lost of best 10", f"of best {replay['best_ten_per_cent']}"
    for head in ("ended", "benign", "epoch", "saved", *best):
        table.add_column(head, justify="right")
    for indicator in replay["indicators"]:
        table.add_row(*_indicator_row(indicator))
    table.add_section()
    table.add_row(*_indicator_row(replay["together"]), style="bold")
    return table


def ended_heading(indicator: Json, every: bool) -> str:
    """Return the line above the table of ended trials."""
    count = len(indicator["ended"])
    hidden = f", the best {LISTED} of them; --trials lists all"
    return f"\n{count} ended, {indicator['name']}{hidden if count > LISTED and not every else ''}:"


def ended_trials(indicator: Json, width: int, every: bool) -> Table:
    """Return a table of the trials that would have been ended, the best first."""
    ranked = sorted(indicator["ended"], key=lambda each: each["place"])
    rows = [_trial_row(each) for each in (ranked if every else ranked[:LISTED])]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    table = Table(box=None, pad_edge=False)
    for head, size in zip(COLUMNS[:-1], widths, strict=False):
        justify: JustifyMethod = "right" if head in NUMBERS else "left"
        table.add_column(head, justify=justify, min_width=size, no_wrap=True)
    left = width - sum(size + 2 for size in widths[:-1])
    if left >= MIN_REASON_WIDTH:
        table.add_column(COLUMNS[-1], no_wrap=True, overflow="ellipsis", max_width=left)
    for row in rows:
        table.add_row(*map(Text, row if left >= MIN_REASON_WIDTH else row[:-1]))
    return table


def calibration_heading(searches: Sequence[str], profile: str) -> str:
    """Return the line above the table of folds."""
    return (
        f"Profile {profile}, calibrated on {', '.join(map(one_line, searches))}: time saved, and "
        "good trials lost (of the ten best, of the best ten per cent), before and after "
        "calibrating on everything but the part left out\n"
    )


def folds(calibration: Json) -> Table:
    """Return a table of the effect of calibration on the trials that were left out of it."""
    table = Table(box=None, pad_edge=False)
    table.add_column("left out")
    for head in ("trials", "before", "lost", "after", "lost"):
        table.add_column(head, justify="right")
    for fold in calibration["folds"]:
        tallies = *_tally(fold["before"]), *_tally(fold["after"])
        table.add_row(Text(one_line(fold["left_out"])), str(fold["trials"]), *tallies)
    table.add_section()
    count = str(sum(fold["trials"] for fold in calibration["folds"]))
    before = _tally(calibration["before"])
    table.add_row("each once", count, *before, *_tally(calibration["held_out"]), style="bold")
    table.add_row("none", count, *before, *_tally(calibration["after"]))
    return table


def recommendation(settings: Sequence[str], is_safe: bool) -> str:
    """Return the calibrated settings as options, with a warning unless they are safe."""
    if not settings:
        return "The profile is best as it is."
    text = "Calibrated on all: " + " ".join(f"--set {each}" for each in settings)
    if not is_safe:
        text += "\nThe parts left out lost good trials: do not rely on it for other searches."
    return text


def duration(seconds: float) -> str:
    """Format a duration in the unit that suits it.

    >>> duration(50), duration(4865), duration(99999)
    ('50 seconds', '81 minutes', '27.8 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _indicator_row(indicator: Json) -> tuple[str, ...]:
    ended = indicator["ended"]
    return (
        indicator["name"],
        str(len(ended)),
        str(sum(each["benign"] for each in ended)),
        f"{median(each['epoch'] for each in ended):g}" if ended else "",
        f"{indicator['saved']:.1%}",
        str(indicator["lost_of_ten"]),
        str(indicator["lost_of_best_ten_per_cent"]),
    )


def _trial_row(ended: Json) -> tuple[str, ...]:
    lost = "best 10 %" if ended["lost_of_best_ten_per_cent"] else ""
    values = ended["reached"], ended["reached_by_then"]
    return (
        one_line(ended["trial"]),
        str(ended["place"]),
        *(f"{nan if value is None else value:.4g}" for value in values),
        str(ended["epoch"]),
        "best 10" if ended["lost_of_ten"] else lost,
        one_line(ended["problem"]),
        one_line(ended["message"]),
    )


def _tally(tally: Json) -> tuple[str, str]:
    tenth = f"{tally['lost_of_best_ten_per_cent']} of {tally['best_ten_per_cent']}"
    return f"{tally['saved']:.1%}", f"{tally['lost_of_ten']} of {tally['ten']}, {tenth}"
