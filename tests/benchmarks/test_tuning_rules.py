"""The rules that end trials in the tuning benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from benchmarks.tuning import curve_extrapolation
from benchmarks.tuning.curve_extrapolation import foreseen
from benchmarks.tuning.diagnosis_rule import Diagnosis, Histories, remembered
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.score_rules import Extrapolation, MedianStopping, Plain, checked, continued
from benchmarks.tuning.simulated_search import Ending, SimulatedTrial
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import NoMoreGain, PassiveLoss, Problem
from sickbay.problems.trials.comparison import ComparedProblem, Comparison, LearningCurve
from tests.benchmarks.made_up_pool import part, trial

PAST = [SimulatedTrial(place, 2, 0.0) for place in range(5)]  # all to their ends
SIX = part(*([first, 0.5] for first in (0.1, 0.2, 0.3, 0.4, 0.5, 0.3)))


def test_plain_ends_nothing() -> None:
    assert Plain().ends(5, 1, PAST) is None


def test_median_ends_what_is_below_the_median_of_the_finished() -> None:
    lower = part(*([first, 0.5] for first in (0.1, 0.2, 0.3, 0.4, 0.5, 0.29)))
    assert MedianStopping(lower).ends(5, 1, PAST) == Ending("median")
    assert MedianStopping(SIX).ends(5, 1, PAST) is None  # just as good


def test_median_waits_for_five_that_went_to_their_ends() -> None:
    lower = part(*([first, 0.5] for first in (0.1, 0.2, 0.3, 0.4, 0.5, 0.29)))
    assert MedianStopping(lower).ends(5, 1, PAST[:4]) is None
    assert (
        MedianStopping(lower).ends(5, 1, [*PAST[:4], SimulatedTrial(4, 1, 0.0, "median")]) is None
    )


def test_median_compares_the_best_so_far() -> None:
    fallen = part(*([0.3, 0.3] for _ in range(5)), [0.4, 0.0])
    assert MedianStopping(fallen).ends(5, 2, PAST) is None


def test_extrapolation_ends_what_hardly_beats_the_best() -> None:
    draws = np.linspace(0, 1, 101)
    rule = Extrapolation(part([0.1, 0.93], [0.1, 0.97], [0.1, 0.2]), {(2, 1): draws})
    assert rule.ends(2, 1, [SimulatedTrial(0, 2, 0.0)]) is None  # beats 0.93 in 7 of 101
    assert rule.ends(2, 1, [SimulatedTrial(0, 2, 0.0), SimulatedTrial(1, 2, 2.0)]) == Ending(
        "extrapolation"
    )
    assert rule.ends(2, 2, [SimulatedTrial(1, 2, 2.0)]) is None  # not an epoch to check at
    assert rule.ends(2, 1, []) is None


def test_curves_are_continued() -> None:
    epochs = np.arange(1, 21)
    rising, flat = 0.7 - 0.5 * epochs**-0.7, 0.2 + 1e-4 * epochs
    low, middle, high = np.quantile(
        foreseen(np.array([rising, flat])[:, :8], 20), [0.05, 0.5, 0.95], 1
    )
    assert low[0] < rising[-1] < high[0]
    assert middle[0] == pytest.approx(rising[-1], abs=0.03)
    assert middle[0] > rising[7] + 0.01
    assert middle[1] == pytest.approx(0.2, abs=0.02)


def test_losses_are_continued_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_extrapolation, "STEPS", 260)
    curve = [1.0 + 2.0 / epoch for epoch in range(1, 13)]
    losses = part(curve, [1000 * each for each in curve], task="ex96_trans")
    assert checked(losses) == [3, 6, 9]
    told = continued(losses, [0]), continued(losses, [1])
    draws = told[0][0, 6]
    assert np.median(draws) == pytest.approx(-1.2, abs=0.2)
    assert (np.diff(draws) >= 0).all()
    assert told[1][1, 6] == pytest.approx(1000 * draws, rel=0.01)  # of whatever scale


def test_a_profile_ends_what_is_sick() -> None:
    rule = diagnosis([[2.3] * 10], PassiveLoss())
    assert rule.ends(0, 2, []) is None
    assert rule.ends(0, 3, []) == Ending("passive_loss")


def test_a_benign_end_is_told() -> None:
    rule = diagnosis([[0.9, 0.8, 0.5, 0.6, 0.7, 0.8]], NoMoreGain())
    assert rule.ends(0, 5, []) == Ending("no_more_gain", benign=True)


def test_the_best_are_protected_by_the_trials_of_the_same_search() -> None:
    losses = [*([3.0] * 10 for _ in range(10)), [2.3] * 10]
    past = [SimulatedTrial(place, 10, 0.0) for place in range(10)]
    assert diagnosis(losses, PassiveLoss()).ends(10, 3, past[:9]) == Ending("passive_loss")
    assert diagnosis(losses, PassiveLoss()).ends(10, 3, past) is None


@dataclass(frozen=True, kw_only=True)
class Beside(ComparedProblem):
    """Keeps what it sees."""

    seen: ClassVar[list[Sequence[LearningCurve]]] = []

    def compare(self, history: History, beside: Comparison) -> Finding | None:  # noqa: ARG002
        self.seen.append(list(beside.others))
        return None


def test_others_are_seen_as_far_as_they_went() -> None:
    rule = diagnosis([[0.9, 0.8, 0.7]] * 4, Beside())
    sick, well = (
        SimulatedTrial(1, 2, 3.0, "sick"),
        SimulatedTrial(3, 2, 5.0, "no_more_gain", benign=True),
    )
    rule.ends(2, 1, [SimulatedTrial(0, 3, 0.0), sick, well])
    assert [each.losses for each in Beside.seen[-1]] == [[0.9, 0.8, 0.7], [0.9, 0.8], [0.9, 0.8]]
    assert [each.over for each in Beside.seen[-1]] == [True, False, True]


@dataclass(frozen=True, kw_only=True)
class Counting(Problem):
    asked: ClassVar[list[History]] = []
    limit: float = 0.5

    def check(self, history: History) -> Finding | None:
        self.asked.append(history)
        return self.found(history, "low") if history.epochs("loss")[-1] < self.limit else None


def test_a_problem_is_asked_about_a_history_once() -> None:
    histories = Histories(Part("cifar10_lstm", (trial([0, 0], losses=[0.9, 0.4]),)))
    once = remembered(Counting(limit=0.6))
    found = [once.check(histories(0, 2)) for _ in range(3)]
    assert len(Counting.asked) == 1
    assert once.name() == "counting"
    assert found[2] is not None
    assert once.check(histories(0, 1)) is None


def test_a_problem_that_raises_stops_the_benchmark() -> None:
    rule = diagnosis([[0.9, 0.8]], Broken())
    with pytest.raises(SystemExit, match="problem broken raised"):
        rule.ends(0, 1, [])


@dataclass(frozen=True, kw_only=True)
class Broken(Problem):
    def check(self, history: History) -> Finding | None:
        raise ValueError(history)


def diagnosis(losses: Sequence[Sequence[float]], problem: Problem) -> Diagnosis:
    trials = [trial([0.0] * len(each), losses=each) for each in losses]
    there = Part("cifar10_lstm", tuple(trials))
    return Diagnosis(there, [problem], Histories(there))
