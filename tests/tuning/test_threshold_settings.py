from dataclasses import dataclass

import pytest

from sickbay.errors import UsageError
from sickbay.problems import NoMoreGain, PassiveLoss
from sickbay.problems.profiles import PROFILES
from sickbay.thresholds import choice, switch
from sickbay.tuning.threshold_settings import changes, lines, with_settings
from tests.tuning.sample_problems import Always, HighLoss

PROFILE = PROFILES["bttackler"]


def test_thresholds_are_changed_by_name() -> None:
    changed = with_settings(PROFILE, ["passive_loss.spread=1e-3", "passive_loss.epochs=4"])
    assert changed == tuple(
        PassiveLoss(spread=1e-3, epochs=4) if isinstance(each, PassiveLoss) else each
        for each in PROFILE
    )
    assert with_settings(PROFILE, []) == PROFILE


def test_a_problem_is_left_out() -> None:
    assert with_settings(PROFILE, ["no_more_gain=off"]) == PROFILE[:-1]


def test_the_old_name_of_a_problem_still_works() -> None:
    problems = PROFILES["autotrainer"]
    with pytest.warns(DeprecationWarning, match="is now called 'oscillating_accuracy'"):
        changed = with_settings(problems, ["oscillating_loss=off"])
    assert changed == with_settings(problems, ["oscillating_accuracy=off"])


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("passive_loss.spread", "--set must be name.threshold=value or name=off, got"),
        ("passive_loss=3", "--set must be name.threshold=value or name=off, got"),
        ("passive_loss.spread=off", "--set must be name.threshold=value or name=off, got"),
        (
            "passive.spread=3",
            "no problem among these called 'passive'; did you mean 'passive_loss'",
        ),
        ("non_finite=off", "There is no problem among these called 'non_finite'"),
        (
            "passive_loss.sprad=3",
            "no threshold of passive_loss called 'sprad'; did you mean 'spread",
        ),
        ("passive_loss.spread=much", "passive_loss.spread must be a number, got 'much'"),
        ("passive_loss.epochs=2.5", "passive_loss.epochs must be a whole number, got '2.5'"),
        ("passive_loss.epochs=1", "epochs must be a whole number of at least 2, got 1"),
    ],
)
def test_what_cannot_be_set(setting: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        with_settings(PROFILE, [setting])


def test_changes_make_the_one_list_the_other() -> None:
    after = with_settings(
        PROFILE, ["passive_loss.spread=0.5", "low_activation.epochs=0", "no_more_gain=off"]
    )
    told = changes(PROFILE, after)
    assert told == ["passive_loss.spread=0.5", "low_activation.epochs=0", "no_more_gain=off"]
    assert with_settings(PROFILE, told) == after
    assert changes(PROFILE, PROFILE) == []


def test_a_line_goes_through_the_own_value_and_moves_nothing_else() -> None:
    (line,) = lines(NoMoreGain(window=0.3), NoMoreGain(window=0.9))
    windows = [each.window for each in line.settings if isinstance(each, NoMoreGain)]
    assert windows == [0.0593, 0.0889, 0.133, 0.2, 0.3, 0.45, 0.675, 1.01, 1.52]
    assert line.own == 4
    spread, epochs = lines(PassiveLoss(), PassiveLoss(epochs=9))
    assert {each.epochs for each in spread.settings if isinstance(each, PassiveLoss)} == {9}
    tried = [each.epochs for each in epochs.settings if isinstance(each, PassiveLoss)]
    assert (tried, epochs.own) == ([2, 3, 4, 5, 6, 7], 1)


def test_the_own_value_is_not_rounded() -> None:
    own = NoMoreGain(window=0.12345)
    (line,) = lines(own, own)
    assert line.settings[line.own] == own
    assert len(line.settings) == 9


def test_a_share_comes_nearer_to_one() -> None:
    (line,) = lines(NoMoreGain(window=0.8), NoMoreGain())
    windows = [each.window for each in line.settings if isinstance(each, NoMoreGain)]
    assert windows == [0.158, 0.237, 0.356, 0.533, 0.8, 0.867, 0.911, 0.941, 0.96]


@dataclass(frozen=True, kw_only=True)
class Switched(HighLoss):
    """High loss, with a switch, a choice and a text."""

    loud: bool = switch(False, "Say more.")
    when: str = choice("ever", "When.", ["ever", "always"])
    words: str = "high"


def test_only_numbers_are_varied() -> None:
    varied = lines(Switched(), Switched())
    assert len(varied) == 2
    settings = [each for line in varied for each in line.settings]
    rest = {(each.loud, each.when, each.words) for each in settings if isinstance(each, Switched)}
    assert rest == {(False, "ever", "high")}
    assert lines(Always(), Always()) == []


@pytest.mark.parametrize("profile", PROFILES)
def test_every_threshold_has_a_line(profile: str) -> None:
    for problem in PROFILES[profile]:
        for line in lines(problem, problem):
            assert line.settings[line.own] == problem
