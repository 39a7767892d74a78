"""How a race goes on with runs that end without a fault but fall short of what is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sickbay.findings import Finding
from sickbay.problems.shared.yardsticks import Yardstick
from tests.repairs.scripted import (
    AS_GIVEN,
    FOUND,
    ILL,
    TO_THE_END,
    Change,
    GoOn,
    GoOnLonger,
    Lengthen,
    Mend,
    Race,
    Scripts,
    at,
    learns,
)

SHORT = Finding(problem="underfitting", step=1, message="it falls short")
HINT = Finding(problem="plateau", severity="info", step=1, message="it is flat")
FALLING = Finding(problem="still_falling", severity="info", step=1, message="it falls")
WANTED = Yardstick(constant=0.3, reference=0.9, metric="val_accuracy")


def falls_short(score: float, **more: Any) -> Any:
    return learns(score, finding=SHORT, **more)


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a race whose runs are held against 0.3 and 0.9, with remedies for falling short."""

    def start(scripts: Scripts, odds: Mapping[str, float], **more: Any) -> Race:
        return Race(monkeypatch, scripts, odds, **{"yardstick": WANTED, **more})

    return start


@pytest.mark.parametrize(
    ("score", "result", "solved"),
    [(0.9, "healthy", True), (0.86, "healthy", True), (0.84, "underfitting", False)],
)
def test_healthy_is_what_meets_the_yardstick(
    measuring: Any, score: float, result: str, solved: bool
) -> None:
    done = measuring({AS_GIVEN: learns(score)}, {})
    assert (done.results, done.outcome.solved) == ({"": result}, solved)
    assert (done.outcome.constant, done.outcome.reference) == (0.3, 0.9)


@pytest.mark.parametrize(
    ("samples", "score", "solved"),
    [
        pytest.param(0, 0.86, True, id="within-5-points"),
        pytest.param(0, 0.84, False, id="beyond"),
        pytest.param(60, 0.846, True, id="within-a-standard-error"),  # which is 0.061
        pytest.param(60, 0.83, False, id="beyond-one"),
        pytest.param(60, 0.9, True, id="known-to-5-points"),
        pytest.param(30, 0.9, False, id="not-known-to-5-points"),
    ],
)
def test_chance_excuses_little_in_a_success(
    measuring: Any, samples: int, score: float, solved: bool
) -> None:
    held = replace(WANTED, samples=samples)
    assert measuring({AS_GIVEN: learns(score)}, {}, yardstick=held).outcome.solved is solved


def test_a_good_score_that_nobody_can_be_sure_of_is_uncertain(measuring: Any) -> None:
    done = measuring({AS_GIVEN: learns(1.0)}, {}, yardstick=replace(WANTED, samples=17))
    assert (done.results, done.outcome.solved) == ({"": "uncertain"}, False)
    assert done.outcome.doubt == "there are only 17 held-out samples"


def test_a_hint_leaves_a_run_healthy(measuring: Any) -> None:
    done = measuring({AS_GIVEN: learns(0.95, findings=[FALLING])}, {})
    told = done.outcome.summary().splitlines()
    assert told[0].startswith("healthy: ")
    assert told[2] == "found: still falling"


def test_a_run_that_falls_short_is_repaired_until_it_does_not(measuring: Any) -> None:
    scripts = {
        AS_GIVEN: falls_short(0.4),
        "a": [learns(0.5), falls_short(0.6)],
        "b": [learns(0.5), learns(0.95)],
    }
    done = measuring(scripts, {"a": 0.95, "b": 0.94})
    assert done.outcome.solved
    assert [each.parent for each in done.outcome.attempts] == [None, 0, 1]
    assert done.results == {"": "underfitting", "a": "underfitting", "b": "healthy"}


@pytest.mark.parametrize(("score", "attempts"), [(0.84, 2), (0.86, 1)])
def test_a_run_as_given_that_is_no_success_is_repaired(
    measuring: Any, score: float, attempts: int
) -> None:
    scripts = {AS_GIVEN: learns(score), "a": [learns(0.9), learns(0.95)]}
    done = measuring(scripts, {"a": 0.95})
    assert len(done.outcome.attempts) == attempts


def test_a_repair_that_is_no_better_is_not_built_upon(measuring: Any) -> None:
    scripts = {
        AS_GIVEN: falls_short(0.6),
        "a": [learns(0.5), falls_short(0.55)],
        "b": [learns(0.5), falls_short(0.58)],
    }
    done = measuring(scripts, {"a": 0.95, "b": 0.94})
    assert [each.parent for each in done.outcome.attempts] == [None, 0, 0]
    assert done.outcome.score == 0.6
    assert not done.outcome.solved
    assert TO_THE_END not in [name for name, _ in done.executor.heats]  # it was there already


def test_a_run_that_falls_short_is_also_treated_for_what_it_hints_at(measuring: Any) -> None:
    scripts = {AS_GIVEN: falls_short(0.4, findings=[HINT, SHORT]), "hint": learns(0.95)}
    done = measuring(scripts, {"hint": 0.5}, remedies=[], hints=[Change("hint")])
    assert done.outcome.solved
    assert done.results["hint"] == "healthy"


def test_a_far_worse_repair_is_not_returned(measuring: Any) -> None:
    scripts = {AS_GIVEN: at(0.8, start={"val_accuracy": 0.1}, finding=FOUND), "a": learns(0.7)}
    done = measuring(scripts, {"a": 0.5}, yardstick=None)
    assert (done.outcome.score, done.outcome.solved) == (0.8, False)


@pytest.mark.parametrize(("score", "epochs"), [(0.5, 60), (0.95, 25)])
def test_the_budget_grows_until_the_yardstick_is_met(
    measuring: Any, score: float, epochs: int
) -> None:
    done = measuring({AS_GIVEN: learns(score)}, {}, budget=25, most=60)
    assert done.search.budget == epochs


def test_the_summary_says_what_was_reached_against_what(measuring: Any) -> None:
    done = measuring({AS_GIVEN: learns(0.312)}, {})
    assert done.outcome.summary().splitlines()[0] == (
        "not solved: score 0.312 before, 0.312 now; the best constant answer gets 0.3, "
        "a quick reference 0.9; that is below the quick reference"
    )
    assert done.outcome.as_json()["reference"] == 0.9


def test_a_remedy_may_lengthen_a_run(measuring: Any) -> None:
    scripts = {AS_GIVEN: falls_short(0.4), "longer": learns(0.95)}
    done = measuring(scripts, {"longer": 0.95}, remedies=[Lengthen("longer")])
    assert done.heats == [("longer", 1), ("longer", 36)]  # with its cooldown
    assert done.outcome.solved


def test_a_run_that_still_falls_goes_on_unless_another_is_ahead_of_its_end(measuring: Any) -> None:
    given = falls_short(0.6, findings=[FALLING, SHORT])
    for score, winner in ((0.61, "longer"), (0.63, "a")):
        scripts = {AS_GIVEN: given, "a": learns(score), "longer": learns(0.95)}
        done = measuring(scripts, {"a": 0.5, "longer": 0.5}, remedies=[Change("a"), GoOn("longer")])
        assert done.heats[1][0] == winner


def test_a_run_that_does_not_fall_goes_on_only_if_nothing_learns(measuring: Any) -> None:
    for candidate, winner in ((learns(0.5), "a"), (at(0.0, start={"val_accuracy": 0.0}), "longer")):
        scripts = {AS_GIVEN: falls_short(0.6), "a": candidate, "longer": learns(0.95)}
        done = measuring(scripts, {"a": 0.5, "longer": 0.5}, remedies=[GoOn("longer"), Change("a")])
        assert done.heats[1][0] == winner


def test_few_race_against_a_run_that_still_falls(measuring: Any) -> None:
    scripts = {AS_GIVEN: falls_short(0.6, findings=[FALLING, SHORT]), "longer": learns(0.95)}
    scripts |= {name: learns(0.5) for name in "abcd"}
    remedies = [*map(Change, "abcd"), GoOn("longer")]
    done = measuring(scripts, dict.fromkeys(["longer", *"abcd"], 0.5), remedies=remedies)
    assert [name for name, _ in done.heats] == ["a b", "longer"]


@pytest.mark.parametrize(
    ("held", "score", "goes_on"),
    [
        pytest.param(WANTED, 0.89, False, id="at-the-reference"),
        pytest.param(replace(WANTED, reference=None), 0.89, True, id="without-a-reference"),
        pytest.param(replace(WANTED, reference=None), 0.99, False, id="almost-perfect"),
    ],
)
def test_a_repaired_run_whose_loss_still_falls(
    measuring: Any, held: Yardstick, score: float, goes_on: bool
) -> None:
    scripts = {
        AS_GIVEN: falls_short(0.4),
        "a": [learns(0.5), learns(score, findings=[FALLING])],
        "longer": learns(0.995),
    }
    odds = {"a": 0.95, "longer": 0.5}
    done = measuring(scripts, odds, remedies=[Change("a"), GoOn("longer")], yardstick=held)
    assert list(done.results) == ["", "a", *["longer"] * goes_on]
    assert done.outcome.solved


@pytest.mark.parametrize(("score", "results"), [(0.89, ["", "a"]), (0.91, [""])])
def test_a_run_that_was_warned_about_is_treated_below_the_reference(
    measuring: Any, score: float, results: list[str]
) -> None:
    scripts = {AS_GIVEN: learns(score, findings=[FOUND]), "a": learns(0.95)}
    done = measuring(scripts, {"a": 0.5})
    assert list(done.results) == results


def test_without_a_reference_a_run_that_still_falls_is_repaired(measuring: Any) -> None:
    scripts = {AS_GIVEN: learns(0.5, findings=[FALLING]), "longer": learns(0.95)}
    odds, remedies = {"longer": 0.5}, [GoOn("longer")]
    for held, count in (
        (replace(WANTED, reference=None), 2),
        (replace(WANTED, reference=0.5), 1),
        (Yardstick(sought=True), 1),
    ):
        done = measuring(scripts, odds, remedies=remedies, yardstick=held)
        assert len(done.outcome.attempts) == count


@pytest.mark.parametrize(("problem", "solved"), [("loss_spike", True), ("constant_input", False)])
def test_a_finding_that_stands_forbids_success(measuring: Any, problem: str, solved: bool) -> None:
    found = Finding(problem=problem, step=1, message="it stands")
    assert measuring({AS_GIVEN: learns(0.95, findings=[found])}, {}).outcome.solved is solved


def test_nothing_is_a_success_if_no_yardstick_could_be_measured(measuring: Any) -> None:
    done = measuring({AS_GIVEN: learns(0.95)}, {}, yardstick=Yardstick(sought=True))
    assert not done.outcome.solved
    assert done.outcome.summary().splitlines()[0].endswith("what could be reached is not known")
    assert measuring({AS_GIVEN: learns(0.95)}, {}, yardstick=Yardstick()).outcome.solved


def test_a_winner_is_trained_to_its_end_within_the_larger_budget(measuring: Any) -> None:
    scripts = {AS_GIVEN: ILL, "a": learns(0.95)}
    done = measuring(scripts, {"a": 0.5}, epochs=40, budget=45, most=100)
    assert done.heats == [("a", 2), ("a", 48)]
    assert done.outcome.solved


def test_what_the_recipe_shows_to_be_wrong_is_mended_first(measuring: Any) -> None:
    scripts = {AS_GIVEN: falls_short(0.6), "clear": learns(0.1), "a": learns(0.5)}
    scripts["clear"] = [learns(0.1), learns(0.95)]
    done = measuring(scripts, {"clear": 0.5, "a": 0.4}, remedies=[Mend("clear"), Change("a")])
    assert [name for name, _ in done.heats] == ["clear", "clear"]


def test_going_on_counts_the_epochs_that_were_trained_before(measuring: Any) -> None:
    scripts = {AS_GIVEN: falls_short(0.6, findings=[FALLING]), "longer": learns(0.95)}
    done = measuring(scripts, {"longer": 0.5}, remedies=[GoOnLonger("longer")])
    run = done.search.runs[-1]
    assert (run.recipe.epochs, run.done, run.recipe.cooldown) == (30, 10, 6)
    assert done.heats == [("longer", 26)]


def test_a_repair_that_cannot_be_judged_is_an_end(measuring: Any) -> None:
    scripts = {AS_GIVEN: ILL, "a": learns(0.5), "b": learns(0.6)}
    done = measuring(scripts, {"a": 0.95, "b": 0.5}, yardstick=Yardstick(sought=True))
    assert list(done.results) == ["", "a"]
    assert not done.outcome.solved
