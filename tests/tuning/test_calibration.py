from collections.abc import Callable

import numpy as np
import pytest

from sickbay.errors import UsageError
from sickbay.problems import Problem
from sickbay.problems.trials.comparison import LearningCurve
from sickbay.tuning.calibration import Calibration, calibrate
from sickbay.tuning.replay import curves_after, judge_search
from sickbay.tuning.setting_effects import SettingEffects, Tally, pick
from tests.tuning.sample_problems import (
    Always,
    FewOthers,
    HighLoss,
    Rising,
    WorseThanAll,
    search,
    thirds,
    trial,
)


def untracked(_what: str, _total: int) -> Callable[[], object]:
    return lambda: None


def told(calibration: Calibration) -> list[str]:
    return calibration.settings


def test_a_threshold_moves_to_where_most_is_saved_and_nothing_lost() -> None:
    # Of 8 / 1.5^k: 5.33 ends the bad ones, a third of all; 3.56 would end the middling ones too,
    # but 2.37 next to it the good ones.
    found = calibrate([thirds()], [HighLoss(limit=8)])
    assert told(found) == ["high_loss.limit=5.33"]
    assert (found.before.saved, found.held_out.saved, found.after.saved) == (0, 0.25, 0.25)
    assert (found.after.lost_of_ten, found.after.ten, found.after.best_ten_per_cent) == (0, 10, 6)
    assert any(each.lost_of_ten for each in found.tried)


def test_a_single_search_is_cut_into_five() -> None:
    found = calibrate([thirds()], [HighLoss(limit=8)])
    assert [(fold.left_out, fold.trials) for fold in found.folds] == [
        (f"part {number}", 12) for number in range(1, 6)
    ]
    assert [fold.before.saved for fold in found.folds] == [0] * 5
    assert [fold.after.saved for fold in found.folds] == [0.25] * 5
    assert [fold.after.ten for fold in found.folds] == [2] * 5  # though the best came late


def test_a_profile_that_loses_good_trials_is_made_safe() -> None:
    found = calibrate([thirds()], [HighLoss(limit=2.5)])
    assert (found.before.lost_of_ten, found.before.lost_of_best_ten_per_cent) == (10, 6)
    assert told(found) == ["high_loss.limit=5.62"]
    assert found.after.is_safe


def test_what_cannot_be_made_safe_is_off() -> None:
    found = calibrate([thirds()], [Always(), HighLoss(limit=5.5)])
    assert told(found) == ["always=off"]
    assert (found.before.saved, found.after.saved) == (0.75, 0.25)


def test_what_makes_no_difference_stays_as_it_is() -> None:
    found = calibrate([thirds()], [HighLoss(limit=50), Rising()])
    assert told(found) == []
    assert found.after == found.before == found.held_out


def test_what_is_safe_alone_must_be_so_together() -> None:
    # Once the bad ones are ended early, some good one of the later trials has few beside it.
    found = calibrate([thirds()], [FewOthers(), HighLoss(limit=8)])
    assert found.before.is_safe
    assert told(found) == ["few_others.limit=20.0", "high_loss.limit=5.33"]
    assert found.after.is_safe


def test_what_is_in_doubt_in_the_end_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sickbay.tuning.calibration.TRIES", 1)
    found = calibrate([thirds()], [FewOthers(), HighLoss(limit=8)])
    assert told(found) == ["few_others=off", "high_loss.limit=5.33"]
    assert found.after.is_safe


def test_thresholds_that_need_each_other() -> None:
    # In the second epoch the good ones are at 2: 2.37 would do, so 3.56 is not at the edge.
    found = calibrate([thirds()], [HighLoss(limit=8, epochs=3)])
    assert told(found) == ["high_loss.limit=3.56", "high_loss.epochs=2"]
    assert found.after.saved == 40 * 2 / 240


def test_each_of_several_searches_is_left_out() -> None:
    harder = [
        trial(each.name, [epoch.scalars["loss"] + 3 for epoch in each.epochs])
        for each in thirds().trials
    ]
    found = calibrate([thirds(), search(*harder)], [HighLoss(limit=8)])
    easy, hard = found.folds
    assert (easy.left_out, easy.trials, hard.left_out, hard.trials) == (
        "1: made up",
        60,
        "2: made up",
        60,
    )
    # Calibrated by the easy one alone, good trials of the hard one are lost; and not the other way.
    assert hard.settings == ["high_loss.limit=5.33"]
    assert hard.after.lost_of_ten == 10
    assert easy.after == easy.before
    assert told(found) == []
    assert (found.held_out.lost_of_ten, found.held_out.ten) == (10, 20)
    assert not found.held_out.is_safe


@pytest.mark.parametrize(("trials", "problems"), [(48, [HighLoss()]), (60, [])])
def test_what_is_too_little(trials: int, problems: list[Problem]) -> None:
    with pytest.raises(
        UsageError, match=f"at least 50 trials and one problem, got {trials} trials"
    ):
        calibrate([thirds(trials)], problems)


def test_progress_is_told() -> None:
    begun: list[int] = []
    ticks: list[int] = []

    def track(_what: str, total: int) -> Callable[[], object]:
        begun.append(total)
        return lambda: ticks.append(1)

    calibrate([thirds()], [HighLoss(limit=8)], track)
    assert len(ticks) == sum(begun) > 60


def test_a_tally_counts_every_search_the_same() -> None:
    long = search(trial("long", [9, 9], seconds=[90, 10]), trial("whole", [1, 1], seconds=[50, 50]))
    short = search(trial("short", [9, 9], seconds=[1, 9]))
    effects = SettingEffects([long, short], [], untracked)
    (effect,) = effects.together([[HighLoss()]])
    everything = np.ones(3, bool)
    assert effects.tally(effect, everything).saved == (10 / 200 + 9 / 10) / 2
    assert effects.tally(effect, np.array([True, True, False])).saved == 10 / 200
    assert effects.tally(effect, np.array([False, True, True])).saved == (0 + 9 / 10) / 2
    tally = effects.tally(effect, everything)
    assert (
        tally.lost_of_ten,
        tally.ten,
        tally.lost_of_best_ten_per_cent,
        tally.best_ten_per_cent,
    ) == (2, 3, 1, 2)


@pytest.mark.parametrize(
    ("lost_of_ten", "lost_of_tenth", "tenth", "expected"),
    [(0, 0, 6, True), (1, 0, 6, False), (0, 1, 49, False), (0, 1, 50, True)],
)
def test_what_is_safe(lost_of_ten: int, lost_of_tenth: int, tenth: int, expected: bool) -> None:
    assert Tally(0.5, lost_of_ten, 10, lost_of_tenth, tenth).is_safe is expected


def test_a_setting_is_judged_once() -> None:
    begun: list[str] = []

    def track(what: str, _total: int) -> Callable[[], object]:
        begun.append(what)
        return lambda: None

    effects = SettingEffects([thirds()], [], track)
    effects.learn([HighLoss(), HighLoss(), Rising()])
    effects.learn([Rising()])
    effects.learn([HighLoss(limit=5), HighLoss(limit=4)])
    assert begun == ["1 choices", "2 settings", "1 settings"]


def test_of_several_effects_the_earliest_counts() -> None:
    made = search(trial("a", [1, 9, 9, 9]), trial("b", [1, 2, 9, 9]), trial("c", [1, 1, 1, 1]))
    effects = SettingEffects([made], [], untracked)
    late, early = HighLoss(epochs=3), Rising()
    effects.learn([late, early])
    effect = effects.estimate([late, early])
    assert effect["epoch"][:2].tolist() == [2, 2]
    assert effect["problem"].tolist() == ["rising", "rising", ""]
    assert effect["saved"].tolist() == [2, 2, 0]
    assert effects.estimate([late])["epoch"][:2].tolist() == [3, 3]
    assert not effects.estimate([])["saved"].any()
    pieced = pick([effects.estimate([late]), effect], np.array([0, 1, 1]))
    assert pieced["epoch"][:2].tolist() == [3, 2]


def test_the_problem_of_an_effect_has_its_whole_name() -> None:
    long = "a_problem_with_a_rather_long_name_" * 3

    class LongName(HighLoss):
        @classmethod
        def name(cls) -> str:
            return long

    effects = SettingEffects([search(trial("a", [9, 9]))], [], untracked)
    (effect,) = effects.together([[LongName()]])
    assert effect["problem"].tolist() == [long]


def test_settings_are_tried_beside_the_same_others() -> None:
    made = thirds(30)
    problems: list[Problem] = [HighLoss(), HighLoss(limit=4), WorseThanAll()]
    ended = judge_search(made, [[each] for each in problems])
    whole = curves_after(made, ())
    tried = judge_search(made, [[each] for each in problems], beside=whole)
    assert tried[:2] == ended[:2]
    assert [each.trial for each in tried[2]] == ["bad 0"]
    # Beside what is left by ending them, nothing is worse than two others that got as far.
    unlearnt = [LearningCurve([], [])] * 30
    assert judge_search(made, [[WorseThanAll()]], beside=unlearnt) == [()]


def test_what_is_left_of_the_others() -> None:
    made = search(
        trial("a", [9, 9, 9]),
        trial("b", [1, 2, 2]),
        trial("c", [1], epochs=3),
        trial("d", [1, 1, 1]),
    )
    (ended,) = judge_search(made, [[HighLoss(), Rising()]])
    assert [(list(each.losses), each.over) for each in curves_after(made, ended)] == [
        ([9], False),
        ([1, 2], True),
        ([1], False),
        ([1, 1, 1], True),
    ]
