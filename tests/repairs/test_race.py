"""Which candidates a race starts, how long they train, and which of them goes on."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import pytest

from tests.repairs.scripted import (
    AS_GIVEN,
    FOUND,
    OTHER,
    TO_THE_END,
    Change,
    Continue,
    Mend,
    Race,
    Scripts,
    Unlock,
    at,
    learns,
    weights_of,
)


@pytest.fixture
def racing(monkeypatch: pytest.MonkeyPatch) -> Any:
    def start(scripts: Scripts, odds: Mapping[str, float], *rest: Any, **more: Any) -> Race:
        return Race(monkeypatch, scripts, odds, *rest, **more)

    return start


EVEN = dict.fromkeys("abcde", 0.5)


def test_a_healthy_recipe_races_against_nothing(racing: Any) -> None:
    done = racing({AS_GIVEN: at(0.9)}, EVEN)
    assert (done.heats, done.results) == ([], {"": "healthy"})
    assert done.outcome.solved


def test_four_candidates_race_and_the_better_half_goes_on_for_twice_as_long(racing: Any) -> None:
    scores = {"a": 0.3, "b": 0.5, "c": 0.2, "d": 0.4}
    done = racing({k: learns(v) for k, v in scores.items()}, EVEN, epochs=40, budget=1000)
    assert done.heats == [("a b c d", 2), ("b d", 4), ("b", 48)]
    assert done.results == {
        "": "loss_spike", "a": "slower", "b": "healthy", "c": "slower", "d": "slower",
    }  # fmt: skip
    assert done.outcome.solved
    assert done.outcome.score == 0.5
    assert done.counts == [("b", True)]


def test_of_three_candidates_only_the_best_goes_on(racing: Any) -> None:
    scores = {"a": 0.3, "b": 0.4, "c": 0.35}
    scripts, odds = {k: learns(v) for k, v in scores.items()}, dict.fromkeys(scores, 0.5)
    done = racing(scripts, odds, epochs=40, budget=1000)
    assert done.heats == [("a b c", 2), ("b", 48)]


@pytest.mark.parametrize(
    ("epochs", "heat"), [(1, 1), (10, 1), (29, 1), (31, 2), (49, 2), (51, 3), (100, 5)]
)
def test_the_first_heat_is_a_twentieth_of_the_epochs(racing: Any, epochs: int, heat: int) -> None:
    done = racing({"a": learns(0.5)}, {"a": 0.5}, epochs=epochs, budget=1000)
    assert done.heats[0] == ("a", heat)


@pytest.mark.parametrize(("epochs", "cooldown"), [(1, 1), (5, 1), (6, 2), (10, 2), (11, 3)])
def test_candidates_cool_down_for_a_fifth_of_the_epochs(
    racing: Any, epochs: int, cooldown: int
) -> None:
    done = racing({"a": learns(0.5)}, {"a": 0.5}, epochs=epochs)
    assert [recipe.cooldown for recipe, _ in done.executor.started] == [0, cooldown]
    assert done.heats[-1] == ("a", epochs + cooldown)


def test_a_cooldown_of_the_recipe_stays(racing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Change, "prescribe", lambda _, __, recipe: recipe.but(cooldown=7))
    done = racing({"a": learns(0.5)}, {"a": 0.5})
    assert done.executor.started[1][0].cooldown == 7


def test_runs_that_cannot_be_paused_race_one_at_a_time_without_a_cooldown(
    racing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.repairs.scripted.ScriptedExecutor.pausable", False)
    done = racing({k: learns(0.5) for k in EVEN}, EVEN)
    assert done.heats == [("a", 1), ("a", 10)]
    assert [recipe.cooldown for recipe, _ in done.executor.started] == [0, 0]


def test_only_remedies_that_keep_weights_start_from_the_last_healthy_ones(racing: Any) -> None:
    remedies = [Continue("a"), Change("b")]
    done = racing({"a": learns(0.5), "b": learns(0.4)}, {"a": 0.6, "b": 0.5}, remedies)
    (_, given), (_, first), (_, second) = done.executor.started
    assert (given, second) == (None, None)
    assert first["weight"] == weights_of(0)["weight"]


def test_a_candidate_that_fails_or_still_has_the_problem_is_replaced(racing: Any) -> None:
    scripts = {
        "a": learns(0.5), "b": at(0.2, finding=FOUND), "c": at(0.2, failed="it broke."),
        "d": learns(0.4), "e": learns(0.6),
    }  # fmt: skip
    odds = {"a": 0.8, "b": 0.7, "c": 0.6, "d": 0.5, "e": 0.4}
    done = racing(scripts, odds)
    assert done.heats[:2] == [("a b c d", 1), ("e", 1)]
    assert done.results["b"] == "loss_spike"
    assert done.results["c"] == "failed: it broke."
    assert done.counts[0] == ("b", False)
    assert done.counts[1:] in ([("a", True)], [("e", True)])


@pytest.mark.parametrize(
    ("odds", "gain", "heats"),
    [
        (0.9, 0.21, ["a"]),  # it runs alone, and wins at once
        (0.89, 0.21, ["a b"]),  # not sure enough to run alone
        (0.9, 0.2, ["a", "b"]),  # it does not gain enough
        (0.95, 0.19, ["a", "b"]),
    ],
)
def test_a_remedy_that_is_sure_to_work_runs_alone(
    racing: Any, odds: float, gain: float, heats: list[str]
) -> None:
    done = racing({"a": learns(gain), "b": learns(0.1)}, {"a": odds, "b": 0.5})
    assert [names for names, epochs in done.heats if epochs == 1] == heats


@pytest.mark.parametrize(
    ("remedy", "score", "first"),
    [
        pytest.param(Mend, 0.11, ["a"], id="from-the-start"),
        pytest.param(Unlock, 0.11, ["a", "b"], id="no-better-than-the-parent"),
        pytest.param(Unlock, 0.13, ["a"], id="better"),
    ],
)
def test_a_specific_remedy_that_goes_on_must_gain_to_win_alone(
    racing: Any, remedy: Any, score: float, first: list[str]
) -> None:
    remedies = [remedy("a"), Change("b")]
    scripts = {"a": learns(score), "b": learns(0.105)}
    done = racing(scripts, {"a": 0.6, "b": 0.5}, remedies)
    assert [names for names, _ in done.heats[: len(first)]] == first
    assert done.results["a"] == "healthy"
    assert ("b" in done.results) is (first == ["a", "b"])


def test_a_second_remedy_does_not_run_alone_once_one_learns(racing: Any) -> None:
    scripts = {"a": learns(0.1), "b": learns(0.15), "c": learns(0.12)}
    done = racing(scripts, {"a": 0.95, "b": 0.94, "c": 0.93})
    assert done.heats[:2] == [("a", 1), ("b c", 1)]


def test_the_next_sure_one_runs_alone_if_the_first_does_not_learn(racing: Any) -> None:
    scripts = {"a": at(0.1, finding=FOUND), "b": learns(0.5), "c": learns(0.5)}
    done = racing(scripts, {"a": 0.95, "b": 0.94, "c": 0.93})
    assert [names for names, epochs in done.heats if epochs == 1] == ["a", "b"]


@pytest.mark.parametrize(
    ("scores", "heats"),
    [
        ({"a": 0.9, "b": 0.59, "c": 0.5, "d": 0.5}, [("a b c d", 1), ("a", 12)]),
        ({"a": 0.9, "b": 0.61, "c": 0.5, "d": 0.5}, [("a b c d", 1), ("a b", 2), ("a", 12)]),
        ({"a": 0.5, "b": 0.2, "c": 0.1, "d": 0.1}, [("a b c d", 1), ("a b", 2), ("a", 12)]),
    ],
)
def test_a_clear_lead_ends_the_race(
    racing: Any, scores: dict[str, float], heats: list[tuple[str, int]]
) -> None:
    done = racing({k: learns(v) for k, v in scores.items()}, EVEN)
    assert done.heats == heats


@pytest.mark.parametrize(
    ("second", "winner"),
    [
        (0.5, "a"),  # behind by more than a third of the distance from 1
        (0.53, "b"),  # close: the odds decide
    ],
)
def test_between_close_candidates_the_odds_decide(racing: Any, second: float, winner: str) -> None:
    scripts = {"a": learns(0.63), "b": learns(second)}
    done = racing(scripts, {"a": 0.3, "b": 0.4}, epochs=20)
    assert done.heats == [("b a", 1), (winner, 24)]


def test_between_perfect_scores_the_odds_decide_as_well(racing: Any) -> None:
    scripts = {
        name: learns(1.0, scores=[{"val_accuracy": 1.0, "val_loss": loss}])
        for name, loss in {"a": 0.1, "b": 0.5}.items()
    }
    assert racing(scripts, {"a": 0.3, "b": 0.4}).heats[-1][0] == "b"


def test_between_equal_scores_the_lower_loss_wins(racing: Any) -> None:
    losses = {"a": [0.9, 0.4], "b": [0.3, 0.5], "c": [0.6, 0.7]}
    scripts = {
        name: learns(0.5, scores=[{"val_accuracy": 0.5, "val_loss": loss} for loss in some])
        for name, some in losses.items()
    }
    done = racing(scripts, EVEN | dict.fromkeys("abc", 0.5), [Change(name) for name in "abc"])
    assert done.heats[-1][0] == "b"  # the lowest of all epochs counts


def test_of_close_candidates_with_equal_odds_a_healthy_one_wins(racing: Any) -> None:
    ill = learns(0.5), learns(0.6, finding=OTHER)
    done = racing({"a": ill, "b": learns(0.55), "c": learns(0.4), "d": learns(0.4)}, EVEN)
    assert done.heats == [("a b c d", 1), ("b a", 2), ("b", 12)]


def test_if_none_learns_a_new_problem_wins_over_none(racing: Any) -> None:
    scripts = {
        "a": at(0.3, start={"val_accuracy": 0.3}, scores=[{"val_accuracy": 0.3}]),
        "b": [at(0.1, finding=OTHER), at(0.1, finding=OTHER)],
        "c": learns(0.8),
    }
    odds = {"a": 0.5, "b": 0.4, "c": 0.1}
    done = racing(scripts, odds, [Change("a"), Change("b")])
    assert [each.result for each in done.outcome.attempts[1:3]] == ["slower", "plateau"]
    assert done.counts[0] == ("b", False)  # the old problem is gone, but the score is no better
    assert [each.parent for each in done.outcome.attempts[3:5]] == [2, 2]


def test_if_none_learns_the_best_healthy_one_goes_on(racing: Any) -> None:
    same = {"start": {"val_accuracy": 0.3}, "scores": [{"val_accuracy": 0.3}]}
    done = racing({"a": at(0.29, **same), "b": at(0.3, **same)}, {"a": 0.5, "b": 0.4})
    assert done.heats == [("a b", 1), ("b", 12)]
    assert not done.outcome.solved  # it has learnt nothing


def test_a_new_problem_is_treated_in_turn_with_remedies_not_yet_tried_for_it(racing: Any) -> None:
    scripts = {"a": [learns(0.5), at(0.5, finding=OTHER)], "b": learns(0.2)}
    done = racing(scripts, {"a": 0.5, "b": 0.4})
    tried = [(each.problem, each.remedy, each.parent) for each in done.outcome.attempts[1:5]]
    assert tried == [
        ("loss_spike", "a", 0), ("loss_spike", "b", 0), ("plateau", "a", 1), ("plateau", "b", 1),
    ]  # fmt: skip


def test_a_remedy_is_tried_once_for_a_problem(racing: Any) -> None:
    scripts = {"a": [learns(0.5), at(0.5, finding=FOUND)], "b": [learns(0.2), learns(0.6)]}
    done = racing(scripts, {"a": 0.9, "b": 0.4})
    assert done.counts == [("a", False), ("b", True)]
    assert [each.remedy for each in done.outcome.attempts] == ["", "a", "b"]


def test_at_most_five_problems_are_treated(racing: Any) -> None:
    problems = cycle([OTHER, FOUND])

    def another(epochs: float) -> Any:
        return learns(0.5, finding=next(problems))(epochs)

    odds = {name: 0.98 - index / 100 for index, name in enumerate("abcdefg")}
    scripts = {name: [learns(0.5), another] for name in odds}
    done = racing(scripts, odds, budget=1000)
    assert [each.remedy for each in done.outcome.attempts] == ["", *"aabbc", ""]
    assert done.outcome.attempts[-1].result == "taken to its end"


def test_without_remedies_the_recipe_is_trained_to_its_end(racing: Any) -> None:
    done = racing({TO_THE_END: at(0.7)}, {})
    assert done.heats == [(TO_THE_END, 10)]
    assert done.outcome.score == 0.7
    assert not done.outcome.solved


@pytest.mark.parametrize(
    ("budget", "heats"),
    [
        (10, []),  # all of it is spent
        (11, [("a b c d", 1), ("a", 1)]),  # everything that is begun gets an epoch
        (15, [("a b c d", 1), ("a", 1)]),  # there is no room for another heat of two
        (16, [("a b c d", 1), ("a b", 1), ("a", 1)]),
        (20, [("a b c d", 1), ("a b", 2), ("a", 2)]),
        (30, [("a b c d", 1), ("a b", 2), ("a", 12)]),
    ],
)
def test_the_budget_is_kept(racing: Any, budget: int, heats: list[tuple[str, int]]) -> None:
    odds = {"a": 0.8, "b": 0.7, "c": 0.6, "d": 0.5}
    done = racing({k: learns(0.5) for k in odds}, odds, budget=budget)
    assert done.heats == heats


def test_a_winner_that_runs_out_of_budget_is_not_solved(racing: Any) -> None:
    done = racing({"a": learns(0.5)}, {"a": 0.5}, budget=18)
    assert done.heats == [("a", 1), ("a", 7)]
    assert done.results["a"] == "out of budget"
    assert not done.outcome.solved


def test_a_winner_that_breaks_counts_as_a_failure(racing: Any) -> None:
    done = racing({"a": [learns(0.5), at(0.5, failed="it broke.")]}, {"a": 0.5})
    assert done.counts == [("a", False)]
    assert done.results["a"] == "failed: it broke."
