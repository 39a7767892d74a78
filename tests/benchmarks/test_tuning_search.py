"""Playing searches on recorded trials: time, budgets, what is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

import pytest

from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.simulated_search import Ending, SimulatedTrial, curve, learnt, simulate
from tests.benchmarks.made_up_pool import part, pool, trial


class InOrder:
    """Asks for the first that is left; keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float]] = []

    def ask(self, left: Sequence[int]) -> int:
        return left[0]

    def tell(self, trial: int, score: float) -> None:
        self.told.append((trial, score))


class At:
    """Ends given trials after given epochs."""

    def __init__(self, benign: bool = False, **when: int) -> None:
        self._when = {int(name[1:]): done for name, done in when.items()}
        self._benign = benign

    def ends(self, trial: int, done: int, _past: Sequence[SimulatedTrial]) -> Ending | None:
        return Ending("it", self._benign) if self._when.get(trial) == done else None


def test_the_first_seeds_are_for_calibration() -> None:
    whole = pool(4, first=248)
    calibration, reporting = Part.of(whole, "calibration"), Part.of(whole, "reporting")
    assert [each.about["seed"] for each in calibration.trials] == [248, 249]
    assert [each.about["seed"] for each in reporting.trials] == [250, 251]


def test_a_part_that_is_empty() -> None:
    with pytest.raises(SystemExit, match="has 4 trials, none of them for the reporting part"):
        Part.of(pool(4), "reporting")


def test_scores_are_higher_for_lower_losses_and_the_worst_for_nan() -> None:
    losses = part([0.5, nan, 0.25], [inf, 2.0, 1.0], task="ex96_trans")
    assert losses.scores.tolist() == [[-0.5, -inf, -0.25], [-inf, -2.0, -1.0]]
    assert losses.best.tolist() == [[-0.5, -0.5, -0.25], [-inf, -2.0, -1.0]]


def test_an_epoch_takes_the_median() -> None:
    disturbed = Part("cifar10_lstm", (trial([0.1, 0.2, 0.3], seconds=[2.0, 3.0, 90.0]),))
    assert disturbed.pace.tolist() == [3.0]
    assert disturbed.budget(2) == 18.0


def test_the_budget_is_an_eighth_of_the_trials_and_ten_at_least() -> None:
    assert part(*[[0.1, 0.2]] * 96).budget() == 24.0
    assert part(*[[0.1, 0.2]] * 8).budget() == 20.0


def test_the_best_ten_per_cent() -> None:
    twenty = part(*([score / 20, 0.0] for score in range(20)))
    assert twenty.good == {18, 19}
    assert twenty.bar == 18 / 20


def test_trials_follow_each_other_in_recorded_time() -> None:
    three = part([0.1, 0.2], [0.3, 0.1], [0.5, 0.6])
    searcher = InOrder()
    past = simulate(three, searcher, At(t1=1), budget=100)
    assert past == [
        SimulatedTrial(0, 2, 0.0),
        SimulatedTrial(1, 1, 2.0, "it"),
        SimulatedTrial(2, 2, 3.0),
    ]
    assert searcher.told == [(0, 0.2), (1, 0.3), (2, 0.6)]
    assert curve(three, past) == [(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.5), (5, 0.6)]


def test_the_budget_cuts_a_trial_between_epochs() -> None:
    two = part([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    assert simulate(two, InOrder(), At(), 4.5) == [
        SimulatedTrial(0, 3, 0.0),
        SimulatedTrial(1, 1, 3.0),
    ]
    assert simulate(two, InOrder(), At(), 3.5) == [SimulatedTrial(0, 3, 0.0)]


def test_a_trial_is_not_ended_after_its_last_epoch() -> None:
    assert simulate(part([0.1, 0.2]), InOrder(), At(t0=2), 9) == [SimulatedTrial(0, 2, 0.0)]


@pytest.mark.parametrize(
    ("played", "score"),
    [
        (SimulatedTrial(0, 4, 0.0), 0.6),
        (SimulatedTrial(0, 3, 0.0, "sick"), 0.4),
        (SimulatedTrial(0, 3, 0.0, "no_more_gain", benign=True), 0.6),
        (SimulatedTrial(0, 4, 0.0, "sick"), 0.4),
        (SimulatedTrial(1, 2, 0.0, "sick"), -inf),
    ],
    ids=["best", "ended: last", "benign: best", "ended with NaN: last finite", "never any"],
)
def test_what_is_learnt(played: SimulatedTrial, score: float) -> None:
    assert learnt(part([0.1, 0.6, 0.4, nan], [nan] * 4), played) == score


def test_a_searcher_is_not_told_of_a_trial_without_a_score() -> None:
    searcher = InOrder()
    simulate(part([nan, nan], [0.1, 0.2]), searcher, At(), 9)
    assert searcher.told == [(1, 0.2)]
