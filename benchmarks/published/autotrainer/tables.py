"""The tables about detection and repair, with the published figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.published.autotrainer import published as paper
from benchmarks.published.autotrainer.data_sets import DATA_SETS
from benchmarks.published.autotrainer.figures import (
    Result,
    Results,
    average,
    delays,
    gain,
    is_detected,
    is_named,
    treated,
)
from benchmarks.published.autotrainer.repair_case import STRATEGIES
from benchmarks.report_page import Sheet

SHORT = paper.SHORT
NAMES = {
    "circle": "Circle", "blob": "Blob", "mnist": "MNIST", "cifar10": "CIFAR-10",
    "imdb": "IMDB", "reuters": "Reuters", "": "all",
}  # fmt: skip
Pair = tuple[Result, Result]  # a repair, and the training without it


def cell(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def beside(*values: float | None, digits: int = 1) -> str:
    return " / ".join(cell(value, digits) for value in values)


def of(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def repaired_pairs(results: Results, strategy: str, records: Iterable[Result]) -> list[Pair]:
    """Return the repairs of some trainings, each with the training, as far as there are any."""
    pairs = []
    for record in records:
        repair = results.repairs.get((record["case"], strategy))
        if repair is not None:
            pairs.append((repair, record))
    return pairs


def is_fixed(pair: Pair) -> bool:
    return is_detected(pair[0]) and bool(pair[0]["solved"])


def overview(results: Results) -> Sheet:
    """Return the figures of the abstract."""
    columns = [_overview(results, strategy) for strategy in STRATEGIES]
    published = [
        str(paper.MODELS), of(paper.BUGGY, paper.BUGGY), "all", "0",
        of(paper.REPAIRED_MODELS, paper.BUGGY), of(paper.REPAIRED_PROBLEMS, paper.PROBLEMS),
        f"{paper.BEFORE} to {paper.AFTER}", f"{paper.GAIN}", f"{paper.RECALL_GAIN}",
        f"{paper.PRECISION_GAIN}", f"{paper.BEST_GAIN}", paper.GAIN_30,
        of(paper.GAIN_70, paper.REPAIRED_MODELS), of(paper.WORSE, paper.REPAIRED_MODELS),
        f"{paper.EXTRA_TIME}",
    ]  # fmt: skip
    rows = [
        [name, theirs, *ours]
        for name, theirs, *ours in zip(OVERVIEW, published, *columns, strict=True)
    ]
    note = "Gains are points of accuracy, precision or recall on held-out samples."
    return Sheet("In short", note, ("", "published", *STRATEGIES), rows)


OVERVIEW = (
    "models", "sick models found sick", "of these, named as built", "sound models found sick",
    "models repaired, of those found sick", "problems repaired", "accuracy before and after, %",
    "mean gain of accuracy", "mean gain of recall", "mean gain of precision", "largest gain",
    "gain of more than 30 points", "gain of at least 70 points", "worse after the repair",
    "more time than a training, mean",
)  # fmt: skip


def _overview(results: Results, strategy: str) -> list[str]:
    sick = repaired_pairs(results, strategy, results.sick)
    sound = repaired_pairs(results, strategy, results.healthy)
    found = [pair for pair in sick if is_detected(pair[0])]
    fixed = [pair for pair in sick if is_fixed(pair)]
    gains = [gain(*pair) for pair in fixed]
    chains = [treated(pair[0]) for pair in found]
    solved, failed = sum(len(each[0]) for each in chains), sum(len(each[1]) for each in chains)
    before = average(100 * pair[1]["score"]["accuracy"] for pair in fixed)
    after = average(100 * pair[0]["score"]["accuracy"] for pair in fixed)
    return [
        str(len(sick) + len(sound)),
        of(len(found), len(sick)),
        of(sum(is_named(pair[0]) for pair in found), len(found)),
        of(sum(is_detected(pair[0]) for pair in sound), len(sound)),
        of(len(fixed), len(found)),
        of(solved, solved + failed),
        f"{cell(before)} to {cell(after)}",
        cell(average(gains)),
        cell(average(gain(*pair, "recall") for pair in fixed)),
        cell(average(gain(*pair, "precision") for pair in fixed)),
        cell(max(gains, default=None)),
        of(sum(each > 30 for each in gains), len(gains)),
        of(sum(each >= 70 for each in gains), len(gains)),
        of(sum(each < 0 for each in gains), len(gains)),
        cell(average(extra_time(pair) for pair in found), 2),
    ]


def extra_time(pair: Pair) -> float:
    return float(pair[0]["seconds"] / pair[1]["seconds"] - 1)


def by_problem(results: Results) -> Sheet:
    """Return how many models of each problem are found, named and repaired."""
    rows = []
    for problem in (*SHORT, ""):
        built = [each for each in results.records.values() if each["problem"]]
        sick = [each for each in results.sick if each["problem"] == problem or not problem]
        count = sum(each["problem"] == problem or not problem for each in built)
        worked, tried = paper.REPAIRED[problem]
        row = [SHORT.get(problem, "all"), of(worked, tried), f"{len(sick)} of {count}"]
        for strategy in STRATEGIES:
            pairs = repaired_pairs(results, strategy, sick)
            found = [pair for pair in pairs if is_detected(pair[0])]
            row += [
                of(len(found), len(pairs)),
                str(sum(is_named(pair[0]) for pair in found)),
                of(sum(map(is_fixed, found)), len(found)),
            ]
        rows.append(row)
    columns = ["problem", "published: repaired of found", "sick of built"]
    for strategy in STRATEGIES:
        columns += [f"{strategy}: found", "named as built", "repaired of found"]
    note = (
        "A model is found sick if its training as given was stopped. It is named as built if one "
        "of its trainings was stopped by the problem that its fault was chosen to cause."
    )
    return Sheet("Detection and repair by problem (Table 2)", note, columns, rows)


def by_data_set(results: Results) -> Sheet:
    """Return detection, repair, accuracy and time for each data set."""
    rows = []
    for data in (*DATA_SETS, ""):
        chosen = [each for each in results.sick if each["data"] == data or not data]
        sound = [each for each in results.healthy if each["data"] == data or not data]
        row = [NAMES[data], str(len(chosen)), str(len(sound))]
        for strategy in STRATEGIES:
            pairs = repaired_pairs(results, strategy, chosen)
            found = [pair for pair in pairs if is_detected(pair[0])]
            fixed = [pair for pair in found if is_fixed(pair)]
            wrong = repaired_pairs(results, strategy, sound)
            row += [
                of(len(found), len(pairs)),
                str(sum(is_detected(pair[0]) for pair in wrong)),
                of(len(fixed), len(found)),
                cell(average(100 * pair[1]["score"]["accuracy"] for pair in fixed))
                + " to "
                + cell(average(100 * pair[0]["score"]["accuracy"] for pair in fixed)),
                cell(median(map(extra_time, found)) if found else None, 2),
            ]
        rows.append(row)
    columns = ["data set", "sick", "sound"]
    for strategy in STRATEGIES:
        columns += [f"{strategy}: found", "false alarms", "repaired", "accuracy, %", "extra time"]
    note = (
        "Table 3 of the paper lists single models; its means are in the first table. "
        "Extra time is the median, in trainings; the accuracy is of the repaired models."
    )
    return Sheet("Detection and repair by data set (Table 3)", note, columns, rows)


def gains(results: Results) -> Sheet:
    """Return the mean gain of the repaired models by data set and problem, beside Table 4."""
    rows = []
    for data in (*DATA_SETS, ""):
        row = [NAMES[data]]
        for place, problem in enumerate(SHORT):
            some = [
                each
                for each in results.sick
                if each["problem"] == problem and data in ("", each["data"])
            ]
            cells = [cell(paper.TABLE_4[data][place]), cell(paper.COUNTS_4[data][place], 0)]
            text = f"{cells[0]} ({cells[1]})"
            for strategy in STRATEGIES:
                pairs = [p for p in repaired_pairs(results, strategy, some) if is_fixed(p)]
                text += f"\n{cell(average(gain(*pair) for pair in pairs))} ({len(pairs)})"
            row.append(text)
        rows.append(row)
    note = (
        "Mean points gained, and in parentheses the number repaired. In each cell: published, "
        "`autotrainer`, `race`."
    )
    return Sheet("Gain of accuracy by problem (Table 4)", note, ("", *SHORT.values()), rows)


def delay(results: Results) -> Sheet:
    """Return the epochs between the first sign and its detection, beside Table 5."""
    rows = []
    for problem, theirs in paper.TABLE_5.items():
        sick = [each for each in results.sick if each["problem"] == problem]
        seen = [delays(each, paper.INTERVALS) for each in sick if problem in each["holds"]]
        row = [SHORT[problem]]
        for place, published in enumerate(theirs):
            ours = [each[place] for each in seen]
            known = [each for each in ours if each is not None]
            missed = len(ours) - len(known)
            text = beside(published, average(known), digits=2)
            row.append(text + (f" ({missed} missed)" if missed else ""))
        rows.append(row + [epochs_to_finding(results, name, sick) for name in STRATEGIES])
    columns = ["", *(f"1/q = {each}" for each in paper.INTERVALS)]
    columns += [f"{strategy}, epochs" for strategy in STRATEGIES]
    note = (
        "Epochs between the first epoch at whose end the rule of a problem holds and the first "
        "check that sees it: published / here. The last columns have the median epochs until a "
        "training as given is stopped; `race` looks at single steps."
    )
    return Sheet("Delay of the detection (Table 5)", note, columns, rows)


def epochs_to_finding(results: Results, strategy: str, sick: Sequence[Result]) -> str:
    pairs = repaired_pairs(results, strategy, sick)
    found = [pair[0]["attempts"][0]["epochs"] for pair in pairs if is_detected(pair[0])]
    return cell(median(found) if found else None, 2)
