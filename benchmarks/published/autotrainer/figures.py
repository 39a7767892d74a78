"""Figures computed from the results, without training anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from benchmarks.detection.judge_runs import ACCEPTED
from benchmarks.published.autotrainer.data_sets import EXPECTED
from benchmarks.published.autotrainer.record import CHECK_EVERY, SWEPT, key_of
from benchmarks.published.autotrainer.solutions import number_of

Result = Mapping[str, Any]
STAGES = 5  # parts of a training, for the time at which a problem occurs


@dataclass(frozen=True)
class Results:
    """The results by experiment. Those that took too long are left out and listed."""

    records: Mapping[str, Result] = field(default_factory=dict)  # by case
    repairs: Mapping[tuple[str, str], Result] = field(default_factory=dict)  # by case and strategy
    alone: Sequence[Result] = ()
    random: Sequence[Result] = ()
    cost: Sequence[Result] = ()
    memory: Sequence[Result] = ()
    again: Sequence[Result] = ()
    too_long: Sequence[Result] = ()

    @classmethod
    def of(cls, results: Iterable[Result]) -> Results:
        done: dict[str, list[Result]] = {}
        for each in results:
            kind = "too_long" if "too_long" in each else each["experiment"]
            done.setdefault(kind, []).append(each)
        records = {each["case"]: each for each in done.pop("record", ())}
        repairs = {(each["case"], each["detail"]): each for each in done.pop("repair", ())}
        return cls(records=records, repairs=repairs, **done)

    @property
    def sick(self) -> list[Result]:
        """The trainings of faulty models that show their problem."""
        return [each for each in self.records.values() if each["problem"] and shows(each)]

    @property
    def healthy(self) -> list[Result]:
        """The trainings of sound models that learn."""
        return [each for each in self.records.values() if not each["problem"] and not shows(each)]

    @property
    def left_out(self) -> list[str]:
        """Faulty models that learn all the same, and sound ones that do not."""
        kept = {each["case"] for each in (*self.sick, *self.healthy)}
        return sorted(set(self.records) - kept)


def shows(record: Result) -> bool:
    """Return whether a training shows a problem.

    An oscillating one must swing as the paper's rule says. Any other problem, and the lack of one,
    shows in the best training accuracy: it stays at or below the accuracy that is expected.
    """
    if record["problem"] == "oscillating_accuracy":
        return "oscillating_accuracy" in record["holds"]
    return bool(max(record["accuracy"]) <= EXPECTED[record["data"]])


def is_detected(repair: Result) -> bool:
    """Return whether the training as given was stopped by a problem."""
    return first_finding(repair) not in ("", "healthy")


def first_finding(repair: Result) -> str:
    result: str = repair["attempts"][0]["result"]
    return result


def is_named(repair: Result) -> bool:
    """Return whether any training was stopped by the problem that the fault causes.

    The names that the profile `default` has for the same thing count too.
    """
    right = {repair["problem"]}
    if repair["detail"] == "race":
        right |= ACCEPTED.get(repair["problem"], frozenset())
    return not right.isdisjoint(each["result"] for each in repair["attempts"])


def treated(repair: Result) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the problems that were solved, each with the solution, and those that were not.

    They are on the way from the training as given to the healthy one, or to the last one.
    """
    attempts = {each["number"]: each for each in repair["attempts"]}
    ends = [each for each in attempts.values() if each["remedy"]]
    healthy = [each for each in ends if each["result"] == "healthy"]
    if not ends:
        found = first_finding(repair)
        return [], [found] if is_detected(repair) else []
    end: Result | None = (healthy or ends)[-1]
    failed = [] if healthy else [ends[-1]["problem"]]
    if not healthy:
        end = attempts.get(ends[-1]["parent"])
    solved = []
    while end is not None and end["remedy"]:
        solved.append((end["problem"], number_of(end["remedy"])))
        end = attempts.get(end["parent"])
    return solved[::-1], failed


def gain(repair: Result, record: Result, what: str = "accuracy") -> float:
    """Return how many points a repair has gained on held-out samples."""
    return 100 * float(repair["score"][what] - record["score"][what])


def average(values: Iterable[float]) -> float | None:
    listed = list(values)
    return mean(listed) if listed else None


def delays(record: Result, intervals: Sequence[int]) -> list[int | None]:
    """Return by interval how many epochs after its first sign a problem is found, None if never.

    >>> delays({"problem": "p", "holds": {"p": [4, 5, 6]}}, (1, 3, 5, 7))
    [0, 2, 1, None]
    """
    epochs = record["holds"].get(record["problem"], [])
    return [
        min((each - epochs[0] for each in epochs if each % every == 0), default=None)
        for every in intervals
    ]


def precision_and_recall(
    results: Results, problem: str, threshold: str, value: float
) -> tuple[float | None, float | None, int]:
    """Return both for one value of a threshold, and how many sound models it wrongly finds."""
    key = key_of(problem, threshold, value)
    sick = [key in each["swept"] for each in results.sick if each["problem"] == problem]
    wrong = sum(key in each["swept"] for each in results.healthy)
    found = sum(sick)
    precision = found / (found + wrong) if found + wrong else None
    return precision, found / len(sick) if sick else None, wrong


def curves(results: Results) -> list[dict[str, Any]]:
    """Return precision and recall for every value of every threshold."""
    rows = []
    for (problem, threshold), (letter, values) in SWEPT.items():
        for value in values:
            precision, recall, wrong = precision_and_recall(results, problem, threshold, value)
            row = {"problem": problem, "threshold": threshold, "letter": letter, "value": value}
            rows.append(row | {"precision": precision, "recall": recall, "wrong": wrong})
    return rows


def stages(results: Sequence[Result], problem: str) -> list[float]:
    """Return in which part of the training a problem first occurs, as shares of all trainings."""
    counts = [0] * STAGES
    for each in results:
        if epochs := each["holds"].get(problem):
            place = (epochs[0] - 1) * STAGES // len(each["accuracy"])
            counts[place] += 1
    return [count / max(1, len(results)) for count in counts]


def found_at_a_check(record: Result, problem: str) -> bool:
    """Return whether a rule holds at one of the checks that the paper makes."""
    return any(epoch % CHECK_EVERY == 0 for epoch in record["holds"].get(problem, ()))
