from typing import Any

import pytest

from sickbay.errors import UsageError
from sickbay.problems import DyingRelu, ExplodingGradient, NonFinite, VanishingGradient
from sickbay.problems.profiles import EVERY, PROFILES, choose

NAMES = "'dying_relu', 'exploding_gradient', 'non_finite', 'vanishing_gradient'"


def test_the_default_profile_looks_for_everything() -> None:
    assert choose() == choose("default") == PROFILES["default"]
    assert {problem.name() for problem in choose()} == set(EVERY)
    assert all(problem == type(problem)() for problem in choose())


def test_the_autotrainer_profile_is_as_published() -> None:
    assert choose("autotrainer") == (
        VanishingGradient(checks=1, loss_drop=0, ratio=1e-3, norm=1e-4, accuracy=0.7),
        ExplodingGradient(checks=1, loss_drop=0, ratio=70, nonfinite=1, accuracy=0.7),
        DyingRelu(checks=1, loss_drop=0, share=0.7, accuracy=0.7),
    )


def test_every_problem_is_known_by_its_name() -> None:
    assert dict(EVERY) == {
        "dying_relu": DyingRelu,
        "exploding_gradient": ExplodingGradient,
        "non_finite": NonFinite,
        "vanishing_gradient": VanishingGradient,
    }


@pytest.mark.parametrize(
    ("profile", "checks"),
    [pytest.param("default", 3, id="default"), pytest.param("autotrainer", 1, id="autotrainer")],
)
def test_names_take_the_thresholds_of_the_profile(profile: str, checks: int) -> None:
    (problem,) = choose(profile, ["dying_relu"])
    assert isinstance(problem, DyingRelu)
    assert problem.checks == checks


def test_a_problem_the_profile_has_not_tuned_keeps_its_own_thresholds() -> None:
    assert choose("autotrainer", ["non_finite"]) == (NonFinite(),)


def test_objects_pass_through_in_the_order_given() -> None:
    mine = DyingRelu(share=0.9)
    chosen = choose("autotrainer", [mine, "non_finite", ExplodingGradient()])
    assert chosen[0] is mine
    assert chosen[1:] == (NonFinite(), ExplodingGradient())
    assert choose(problems=(mine,)) == (mine,)
    assert choose(problems=[]) == ()


@pytest.mark.parametrize(
    ("profile", "problems", "message"),
    [
        pytest.param(
            "autotraner",
            None,
            "There is no profile 'autotraner'; did you mean 'autotrainer'? "
            "Possible: 'autotrainer', 'default'.",
            id="profile",
        ),
        pytest.param(
            "x",
            None,
            "There is no profile 'x'. Possible: 'autotrainer', 'default'.",
            id="nothing-like-it",
        ),
        pytest.param(
            "default",
            ["dying_rely"],
            f"There is no problem 'dying_rely'; did you mean 'dying_relu'? Possible: {NAMES}.",
            id="problem",
        ),
        pytest.param(
            "default", [7], f"There is no problem 7. Possible: {NAMES}.", id="number-as-problem"
        ),
        pytest.param(
            "default",
            "dying_relu",
            "problems must be a list of names or Problem objects, got 'dying_relu'.",
            id="name-for-a-list",
        ),
        pytest.param(
            "default",
            NonFinite(),
            "problems must be a list of names or Problem objects, got NonFinite().",
            id="object-for-a-list",
        ),
        pytest.param(
            "default",
            {"dying_relu"},
            "problems must be a list of names or Problem objects, got {'dying_relu'}.",
            id="set",
        ),
    ],
)
def test_what_cannot_be_chosen(profile: str, problems: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose(profile, problems)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("profile", "problems"),
    [
        pytest.param(None, None, id="no-profile"),
        pytest.param(["default"], None, id="list-as-profile"),
        pytest.param("default", [["dying_relu"]], id="list-as-problem"),
        pytest.param("default", [{"dying_relu": 1}], id="mapping-as-problem"),
        pytest.param("default", [NonFinite], id="class-as-problem"),
        pytest.param("default", [None], id="none-as-problem"),
    ],
)
def test_wrong_types_are_usage_errors(profile: Any, problems: Any) -> None:
    with pytest.raises(UsageError):
        choose(profile, problems)
