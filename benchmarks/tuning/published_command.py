"""The command `published`: BTTackler's tables beside ours, as a page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from math import nan
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks.report_page import Sheet, page_head, percent, plain
from benchmarks.tuning import published_tables as tables
from benchmarks.tuning.claims import (
    FIRST,
    Claims,
    by_indicator,
    claims,
    distribution,
    of_no_more_gain,
)
from benchmarks.tuning.hit_ratio_causes import APART, LARGE, causes
from benchmarks.tuning.pool import Pool, load, read_pool
from benchmarks.tuning.published_numbers import TASKS
from benchmarks.tuning.published_text import DIFFERS, FIGURES, HITS, NMG
from sickbay.safe_files import parse_json

QUESTION = "How BTTackler's rules do here, beside what its paper reports."


def run(options: argparse.Namespace) -> None:
    """Compute the tables; print and write them."""
    figures = tables.Figures(parse_json(options.run.read_bytes(), options.run))
    live = parse_json(options.live.read_bytes(), options.live) if options.live else None
    pools = {task: load(options.pools / f"{task}.zip") for task in TASKS}
    told = {task: claims(read_pool(options.pools / f"{task}.zip")) for task in TASKS}
    first = [tables.hit_ratios(figures), tables.best_values(figures), tables.trials(figures)]
    first.append(tables.savings(figures))
    fifth = [by_indicator(told), of_no_more_gain(told)]
    more = [distribution(told["cifar10_cnn"])]
    more += [tables.live_claims(live), tables.overhead(live)] if live else []
    why = causes(pools, options.seeds)
    made = [*first, *fifth, *more, why]
    out = Console(width=None if sys.stdout.isatty() else 150)
    for sheet in made:
        sheet.show(out)
    if options.docs:
        numbers = named(figures) | claimed(told, fifth) | compared(why)
        parts = [*map(Sheet.markdown, first), FIGURES, *map(Sheet.markdown, fifth)]
        parts += [NMG.format(**numbers), *map(Sheet.markdown, more), why.markdown()]
        parts += [HITS.format(**numbers), DIFFERS.format(**recording(pools["ex96_trans"]))]
        options.docs.parent.mkdir(parents=True, exist_ok=True)
        options.docs.write_text("\n".join([head(numbers, live), *parts]))
    if options.json:
        whole = {sheet.title: [sheet.columns, *sheet.rows] for sheet in made}
        options.json.write_text(json.dumps(plain(whole)) + "\n")


def head(numbers: Mapping[str, str], live: Mapping[str, Any] | None) -> str:
    source = (
        "`python -m benchmarks.tuning published --run run.json --live live.json`, with the files "
        "that `python -m benchmarks.tuning run --json run.json`"
    )
    command = live["about"]["command"] if live else "python -m benchmarks.tuning live --data DIR"
    source += f" and `{command} --json live.json` write"
    summary = [
        f"Top10HR, mean of all tasks and searchers: published 72.25 %; {numbers['code']} with the "
        f"rules of the published code, {numbers['paper']} with those of the paper, "
        f"{numbers['tuning']} with `tuning`.",
        "The number of trials that a search can try explains Top10HR here, but not in the paper.",
        f"NMG ends {numbers['nmg_code']} of {numbers['trials']} trials of Cifar10CNN by the code's "
        f"rule, which flat losses meet by chance, and {numbers['share']} by the paper's rule where "
        "the paper has 14.7 %.",
        "ERG ends about half of the classifiers' trials in the paper, and far fewer here.",
        "Claimed trials are worse than others here too (Figure 5).",
    ]
    return page_head("BTTackler, published and here", QUESTION, source, summary)


def named(figures: tables.Figures) -> dict[str, Any]:
    """Return the numbers of the text that come from the played searches."""
    return {
        "code": percent(figures.mean("bttackler", "top10hr")),
        "paper": percent(figures.mean("bttackler_paper", "top10hr")),
        "tuning": percent(figures.mean("tuning", "top10hr")),
        "last": percent(figures.mean("bttackler", "top10hr_last")),
        "lost": percent(figures.value("ex96_trans", "random", "bttackler", "lost")),
        "random": percent(mean_over(figures, ["random"])),
        "learners": percent(mean_over(figures, ["TPE", "GP", "SMAC"])),
    }


def claimed(told: Mapping[str, Claims], sheets: Sequence[Sheet]) -> dict[str, Any]:
    """Return the numbers of the text that come from replaying the pools."""
    share = {(row[0], row[1]): share_of(row[3]) for row in sheets[0].rows}
    gain = {row[0]: row[1] for row in sheets[1].rows}
    counts = {name: each.partition(" ")[0] for name, each in gain.items()}
    first = gain[FIRST]
    ends = [
        each.epoch
        for some in told.values()
        for each in some.ended["code"]
        if each.finding.problem == "no_more_gain"
    ]
    return {
        "erg_cnn": share["Cifar10CNN", "ERG"],
        "erg_lstm": share["Cifar10LSTM", "ERG"],
        "trials": len(told["cifar10_cnn"].search.trials),
        "nmg_epoch": median(ends or [nan]),
        "nmg_code": counts["the code's rule"],
        "nmg_paper": first.partition(" ")[0],
        "share": share_of(first),
        "once": counts["the code's rule, once after 16 epochs"],
        "one_per_cent": counts["the code's rule, rise above 1 %"],
        "train": counts["the code's rule, training loss only"],
    }


def share_of(cell: str) -> str:
    """Return what stands in brackets.

    >>> share_of("93 (14.7 %)")
    '14.7 %'
    """
    return cell.partition("(")[2].rstrip(")")


def compared(why: Sheet) -> dict[str, Any]:
    """Return the numbers of the text that come from the random searches."""
    found = {(row[0], row[1]): float(row[-1].rstrip(" %")) for row in why.rows}
    apart = [found[t, f"bttackler{APART}"] - found[t, "bttackler"] for t in TASKS.values()]
    fore = [found[t, f"foreknowledge{apart}"] for t in TASKS.values() for apart in ("", APART)]
    large = [found[t, f"bttackler{APART}, time of {LARGE} trials"] for t in TASKS.values()]
    return {
        "apart_low": min(apart),
        "apart_high": max(apart),
        "fore_low": min(fore),
        "fore_high": max(fore),
        "large": ", ".join(f"{each:g} %" for each in large),
    }


def mean_over(figures: tables.Figures, searchers: Sequence[str]) -> float:
    found = [figures.value(t, s, "bttackler", "top10hr") for t in TASKS for s in searchers]
    return sum(found) / len(found)


def recording(pool: Pool) -> dict[str, Any]:
    """Return what it took to record a pool."""
    hours, workers = sum(each.seconds for each in pool.trials) / 3600, pool.about["workers"]
    taken = {"hours": hours, "workers": workers, "wall": hours / workers}
    return {"count": len(pool.trials), "device": pool.about["device"], **taken}
