"""The tables about AutoTrainer's nine solutions, with the published figures beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from benchmarks.published.autotrainer import published as paper
from benchmarks.published.autotrainer.data_sets import DATA_SETS
from benchmarks.published.autotrainer.figures import (
    Results,
    average,
    first_finding,
    gain,
    treated,
)
from benchmarks.published.autotrainer.repair_case import STRATEGIES
from benchmarks.published.autotrainer.tables import (
    NAMES,
    SHORT,
    Pair,
    beside,
    repaired_pairs,
)
from benchmarks.report_page import Sheet


def by_solution(results: Results) -> Sheet:
    """Return which solution repaired how many problems, beside Table 2."""
    solved = {strategy: solutions_of(results, strategy) for strategy in STRATEGIES}
    rows = []
    for data in (*DATA_SETS, ""):
        row = [NAMES[data]]
        for place, column in enumerate(paper.SOLUTIONS):
            ours = [
                sum(key[1:] == column and data in ("", key[0]) for key in found)
                for found in solved.values()
            ]
            row.append(beside(paper.TABLE_2[data][place], *ours, digits=0))
        rows.append(row)
    columns = [f"{SHORT[problem]} {solution}" for problem, solution in paper.SOLUTIONS]
    others = sum(key[1:] not in paper.SOLUTIONS for key in solved["race"])
    note = (
        "Published / `autotrainer` / `race`. For `autotrainer`, a problem counts under the name it "
        f"was found by. Not repaired in the paper: VG 4, EG 4. Here: {unsolved(results)}. For "
        "`race`, it counts under the name of its fault, since the profile `default` has other "
        f"names; {others} repairs were by a remedy that this table does not have."
    )
    return Sheet("Problems repaired by each solution (Table 2)", note, ("", *columns), rows)


def solutions_of(results: Results, strategy: str) -> list[tuple[str, str, str]]:
    """Return data set, problem and solution of every problem that was repaired."""
    found = []
    for repair, record in repaired_pairs(results, strategy, results.sick):
        for problem, solution in treated(repair)[0]:
            name = record["problem"] if strategy == "race" else problem
            found.append((record["data"], name, solution))
    return found


def unsolved(results: Results) -> str:
    """Return the problems that the strategy of the paper did not repair, with their numbers."""
    pairs = repaired_pairs(results, "autotrainer", results.sick)
    lost = Counter(problem for repair, _ in pairs for problem in treated(repair)[1])
    return ", ".join(f"{SHORT.get(name, name)} {lost[name]}" for name in sorted(lost)) or "none"


def alone(results: Results) -> list[Sheet]:
    """Return how often each solution repairs its problem alone, and the gain, beside Table 6."""
    sick = {each["case"]: each for each in results.sick}
    tried = [
        (each, sick[each["case"]])
        for each in results.alone
        if each["case"] in sick and first_finding(each) == each["problem"]
    ]
    note = (
        "Published / `autotrainer` with one solution. Only the problem itself is looked for, and "
        "it counts as repaired if it is not found again. `race` has no such mode."
    )
    title = "Each solution alone (Table 6)"
    return [
        _alone(f"{title}: repaired, %", note, tried, paper.SOLVED_6, _share_solved),
        _alone(f"{title}: points gained", note, tried, paper.GAIN_6, _mean_gain),
    ]


def _alone(
    title: str,
    note: str,
    tried: Sequence[Pair],
    table: Mapping[str, paper.Row],
    figure: Callable[[Sequence[Pair]], float | None],
) -> Sheet:
    rows = []
    for data in (*DATA_SETS, ""):
        row = [NAMES[data]]
        for place, (problem, solution) in enumerate(paper.ALONE):
            some = [
                pair
                for pair in tried
                if (pair[0]["problem"], pair[0]["detail"]) == (problem, solution)
                and data in ("", pair[0]["data"])
            ]
            row.append(beside(table[data][place], figure(some), digits=0))
        rows.append(row)
    columns = [f"{SHORT[problem]} {solution}" for problem, solution in paper.ALONE]
    return Sheet(title, note, ("", *columns), rows)


def _share_solved(pairs: Sequence[Pair]) -> float | None:
    return average(100.0 * bool(pair[0]["solved"]) for pair in pairs)


def _mean_gain(pairs: Sequence[Pair]) -> float | None:
    return average(gain(*pair) for pair in pairs if pair[0]["solved"])
