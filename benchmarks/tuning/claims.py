"""Which trials of the pools the rules of BTTackler claim, each alone and all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.report_page import Sheet, percent
from benchmarks.tuning.pool_part import Array
from benchmarks.tuning.published_numbers import CLAIMED, INDICATORS, TASKS, TRIED
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.published import bttackler, bttackler_paper
from sickbay.tuning.recorded_search import RecordedSearch
from sickbay.tuning.replay import EndedTrial, judge_search

FIRST = "the paper's rule, in trials that no other rule has ended"
BINS = (0.0, 0.15, 0.25, 0.35, 0.45, 0.55, 1.0)  # of the accuracy
Code = bttackler.NoMoreGain


class OfTrainingLoss(Code):
    """The code's rule, for the training loss alone."""

    def check(self, history: History) -> Finding | None:
        finding = super().check(history)
        return finding if finding and finding.message.startswith("mean loss") else None


class ByOnePerCent(Code):
    """The code's rule, where the mean must rise by more than 1 %."""

    def check(self, history: History) -> Finding | None:
        finding = super().check(history)
        rose = finding and finding.evidence["now"] > 1.01 * finding.evidence["before"]
        return finding if rose else None


class Once(Code):
    """The code's rule, judged after 16 epochs only."""

    def check(self, history: History) -> Finding | None:
        return super().check(history) if history.epoch == 16 else None


GAIN: Mapping[str, Problem] = {
    "the code's rule": Code(),
    "the code's rule, training loss only": OfTrainingLoss(),
    "the code's rule, once after 16 epochs": Once(),
    "the code's rule, rise above 1 %": ByOnePerCent(),
    "the paper's rule": bttackler_paper.NoMoreGain(),
}


@dataclass(frozen=True)
class Claims:
    """The trials of a pool that each list of problems ends."""

    search: RecordedSearch
    ended: Mapping[str, Sequence[EndedTrial]]

    def counts(self, name: str) -> Counter[str]:
        return Counter(each.finding.problem for each in self.ended[name])


def claims(search: RecordedSearch) -> Claims:
    """Judge the trials of a pool by each rule alone, by all together, and by variants of NMG."""
    panels: dict[str, Sequence[Problem]] = {}
    for rules in ("code", "paper"):
        problems = bttackler.problems(rules)
        panels |= {f"{rules} {each.name()}": [each] for each in problems} | {rules: problems}
    panels |= {name: [problem] for name, problem in GAIN.items()}
    ended = judge_search(search, list(panels.values()))
    return Claims(search, dict(zip(panels, ended, strict=True)))


def by_indicator(told: Mapping[str, Claims]) -> Sheet:
    """Return the paper's Table 5 beside what the same rules claim in the pools."""
    rows = []
    for task, each in told.items():
        trials, published = len(each.search.trials), TRIED[task][2]
        for problem, letters in INDICATORS.items():
            row = [TASKS[task], letters, shown(CLAIMED[task].get(letters, 0), published)]
            for rules in ("code", "paper"):
                row.append(shown(len(each.ended[f"{rules} {problem}"]), trials))
                row.append(shown(each.counts(rules)[problem], trials))
            rows.append(row)
    note = """
The paper replays its random search with one indicator at a time. Its counts are shares of the 634,
621 and 486 trials of Table 3. Alone: as in the paper, each rule without the others. First: with all
rules together, how often a rule is the one that ends a trial.""".lstrip()
    columns = ("task", "rule", "published", "code, alone", "code, first")
    return Sheet("Table 5: claims", note, (*columns, "paper, alone", "paper, first"), rows)


def shown(count: int, of: int) -> str:
    return f"{count} ({percent(count / of)})"


def of_no_more_gain(told: Mapping[str, Claims]) -> Sheet:
    """Return how many trials variants of NMG claim alone."""
    rows = [
        [name, *(shown(len(each.ended[name]), len(each.search.trials)) for each in told.values())]
        for name in GAIN
    ]
    firsts = [
        shown(each.counts("paper")["no_more_gain"], len(each.search.trials))
        for each in told.values()
    ]
    rows.append([FIRST, *firsts])
    published = [shown(CLAIMED[task]["NMG"], TRIED[task][2]) for task in told]
    rows.append(["published", *published])
    return Sheet("NMG, and why it claims so many", "", ("rule", *(TASKS[t] for t in told)), rows)


def distribution(told: Claims) -> Sheet:
    """Return the paper's Figure 5: the accuracy of trials that are claimed, and of the others."""
    values = np.nan_to_num(np.array(told.search.values))
    groups: dict[str, Array] = {}
    for rules in ("code", "paper"):
        bad = np.isin(np.arange(len(values)), [each.index for each in told.ended[rules]])
        sick = [each.index for each in told.ended[rules] if not each.benign]
        groups |= {f"{rules}: not claimed": values[~bad], f"{rules}: claimed": values[bad]}
        groups[f"{rules}: claimed, without NMG"] = values[sick]
    rows = []
    for name, some in groups.items():
        counts, _ = np.histogram(some, BINS)
        row = [name, str(len(some)), *(percent(count / max(1, len(some))) for count in counts)]
        rows.append([*row, f"{np.median(some):.3f}" if len(some) else "-"])
    heads = [f"{low:g} to {high:g}" for low, high in pairwise(BINS)]
    note = """
Figure 5 shows the accuracy of bad trials (claimed by an indicator) and good ones in Cifar10CNN as
two distributions, without numbers. Here every trial was trained to its end, so the accuracy is the
one it would have reached.""".lstrip()
    columns = ("trials of Cifar10CNN", "number", *heads, "median")
    return Sheet("Figure 5: accuracy of claimed trials", note, columns, rows)
