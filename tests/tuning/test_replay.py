import pytest

from sickbay.problems import Problem
from sickbay.tuning.replay import Indicator, replay
from tests.tuning.sample_problems import (
    HighLoss,
    Raising,
    Rising,
    SeesOthers,
    WorseThanAll,
    Yielding,
    search,
    trial,
)


def ends(indicator: Indicator) -> list[tuple[str, int]]:
    return [(each.trial, each.epoch) for each in indicator.ended]


def test_each_indicator_alone_and_all_together() -> None:
    made = search(
        trial("sick", [4, 7, 8, 9], seconds=[1, 2, 3, 4]),
        trial("rising", [4, 3, 4, 4], seconds=[1, 2, 3, 4]),
        trial("healthy", [4, 3, 2, 1], seconds=[5, 5, 5, 5]),
    )
    told = replay(made, [HighLoss(), Rising()])
    high, rising = told.alone
    assert (high.name, rising.name, told.together.name) == ("high_loss", "rising", "all together")
    assert ends(high) == [("sick", 2)]
    assert ends(rising) == [("sick", 2), ("rising", 3)]
    assert ends(told.together) == [("sick", 2), ("rising", 3)]
    assert [each.seconds_saved for each in told.together.ended] == [7, 4]
    assert [each.finding.problem for each in told.together.ended] == ["high_loss", "rising"]
    assert (high.saved, told.together.saved) == (7 / 40, 11 / 40)
    assert [[each.benign for each in judged.ended] for judged in told.alone] == [
        [False],
        [True] * 2,
    ]


def test_a_trial_is_judged_at_every_epoch_but_the_last_planned_one() -> None:
    made = search(
        trial("at-the-end", [1, 1, 9]),
        trial("before-it", [1, 9, 9]),
        trial("cut-short", [1, 9], epochs=4),
        trial("at-once", [9, 9, 9]),
    )
    told = replay(made, [HighLoss()])
    assert ends(told.together) == [("before-it", 2), ("cut-short", 2), ("at-once", 1)]
    assert [each.seconds_saved for each in told.together.ended] == [1, 0, 2]


def test_without_planned_epochs_the_last_recorded_one_is_the_last() -> None:
    made = trial("a", [9, 9])
    unplanned = type(made)(made.name, type(made.setup)(), made.epochs[1:])
    assert ends(replay(search(unplanned), [HighLoss()]).together) == []


def test_trials_are_compared_with_those_before_them() -> None:
    made = search(trial("a", [3, 3]), trial("b", [2, 2]), trial("c", [4, 4]), trial("d", [5, 5]))
    assert ends(replay(made, [WorseThanAll()]).together) == [("c", 1), ("d", 1)]
    lower = search(trial("a", [3, 3]), trial("b", [2, 2]), trial("c", [1, 1]), maximize=False)
    assert ends(replay(lower, [WorseThanAll()]).together) == [("c", 1)]


def test_what_was_ended_counts_up_to_its_end() -> None:
    sick, healthy = trial("a", [1, 9, 3, 3]), trial("b", [1, 1, 1, 1])
    middling = trial("c", [1, 1, 2, 2])
    told = replay(search(healthy, sick, middling), [HighLoss(), WorseThanAll()])
    assert ends(told.alone[1]) == []  # in the third epoch a is the worst, not c
    assert ends(told.together) == [("a", 2)]  # and then only b is left, one is too few
    told = replay(search(healthy, healthy, sick, middling), [HighLoss(), WorseThanAll()])
    assert ends(told.together) == [("a", 2), ("c", 3)]


def test_trials_know_which_others_were_ended() -> None:
    cut, ended = trial("cut", [1], epochs=3), trial("ended", [9, 1, 1])
    whole, last = trial("whole", [1, 1, 1]), trial("last", [1, 1])
    told = replay(search(cut, ended, whole, last), [HighLoss(), SeesOthers()])
    assert told.together.ended[-1].finding.message == "over: [False, False, True]"


def test_the_best_are_protected_by_the_trials_before_them() -> None:
    others = [trial(str(loss), [loss, loss]) for loss in range(10, 20)]
    made = search(trial("first", [7, 7]), *others, trial("best", [7.5, 7.5]), trial("no", [12, 12]))
    told = replay(made, [Yielding(limit=6), HighLoss(limit=6)])
    names = [each.trial for each in told.alone[0].ended]
    assert "best" not in names
    assert {"first", "no"} <= set(names)
    assert "best" in [each.trial for each in told.alone[1].ended]


TEN_GOOD = [trial(f"good {each}", [0.1 * each, 0.1 * each]) for each in range(1, 11)]


@pytest.mark.parametrize(
    ("losses", "problem", "lost"),
    [
        pytest.param([6, 0.01, 0.01], HighLoss(), True, id="a-good-one-ended-as-sick"),
        pytest.param([0.01, 6, 0.01], HighLoss(), True, id="as-sick-with-enough-reached"),
        pytest.param([6, 4, 4], HighLoss(), False, id="not-a-good-one"),
        pytest.param([0.01, 0.5, 0.001], Rising(), False, id="benign-with-enough"),
        pytest.param([0.95, 0.96, 0.001], Rising(), False, id="benign-with-just-enough"),
        pytest.param([1.1, 1.2, 0.001], Rising(), True, id="benign-with-too-little"),
        pytest.param([0.9, 0.01, 0.001], Rising(), False, id="not-ended"),
    ],
)
def test_which_good_ones_are_lost(losses: list[float], problem: Problem, lost: bool) -> None:
    made = search(*TEN_GOOD, trial("it", losses))
    together = replay(made, [problem]).together
    assert together.lost_of_ten == lost
    assert [each.trial for each in together.ended if each.lost_of_ten] == ["it"] * lost


def test_what_is_told_of_an_ended_trial() -> None:
    made = search(*TEN_GOOD, trial("it", [4, 6, 0.01, 3]))
    (ended,) = replay(made, [HighLoss()]).together.ended
    assert (ended.index, ended.place, ended.epoch, ended.seconds_saved) == (10, 1, 2, 2)
    assert (ended.reached, ended.reached_by_then, ended.benign) == (9.99, 6, False)


def test_lost_of_the_best_ten_per_cent() -> None:
    others = [trial(str(each), [1 + 0.1 * each] * 2) for each in range(19)]
    made = search(
        trial("second", [6, 0.5]), trial("third", [6, 0.6]), trial("best", [6, 0.4]), *others
    )
    together = replay(made, [HighLoss()]).together
    assert (together.lost_of_ten, together.lost_of_best_ten_per_cent) == (3, 2)


def test_a_problem_that_raises_is_reported_and_left_out() -> None:
    made = search(trial("a", [9, 9]), trial("b", [9, 9]))
    told = replay(made, [Raising(), HighLoss()])
    assert ends(told.together) == [("a", 1), ("b", 1)]
    assert told.troubles == ("problem raising failed in a (ZeroDivisionError: at epoch 1)",)


def test_every_trial_is_a_tick() -> None:
    ticks: list[int] = []
    replay(search(*TEN_GOOD), [HighLoss()], lambda: ticks.append(1))
    assert len(ticks) == 10


def test_a_search_without_time() -> None:
    made = search(trial("a", [9, 9], seconds=[0, 0]))
    assert replay(made, [HighLoss()]).together.saved == 0
    assert replay(search(), [HighLoss()]).together.saved == 0
