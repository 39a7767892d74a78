from typing import Any

import pytest

from sickbay.errors import UsageError
from sickbay.problems import DyingRelu, ExplodingGradient, NonFinite
from sickbay.problems.by_name import EVERY
from sickbay.problems.profiles import PROFILES, choose
from sickbay.problems.published import autotrainer

BY_NAME = ", ".join(map(repr, sorted(PROFILES)))
NAMES = ", ".join(map(repr, sorted(EVERY)))


def names(profile: str) -> list[str]:
    return [problem.name() for problem in choose(profile)]


def test_the_default_profile() -> None:
    assert choose() == choose("default") == PROFILES["default"]
    assert len(set(names("default"))) == len(names("default")) > 20


def test_what_is_explained_exists() -> None:
    explained = {name for kind in EVERY.values() for name in kind.explains}
    assert explained <= set(EVERY)


def test_the_autotrainer_profile_is_as_published() -> None:
    assert choose("autotrainer") == (
        autotrainer.AbnormalData(limit=10, measure="largest", checks=1, accuracy=0.7),
        autotrainer.ImproperLoss(accuracy=0.7),
        autotrainer.ImproperOutput(accuracy=0.7),
        autotrainer.VanishingGradient(ratio=1e-3, norm=1e-4, checks=1, accuracy=0.7),
        autotrainer.ExplodingGradient(ratio=70, checks=1, accuracy=0.7),
        autotrainer.DyingRelu(share=0.7, of="neurons", checks=1, accuracy=0.7),
        autotrainer.OscillatingAccuracy(size=0.03, share=0.2, after=0.3),
        autotrainer.SlowConvergence(change=0.01, accuracy=0.7, after=0.3, validation=False),
    )


def test_the_other_papers_have_their_rules() -> None:
    assert names("bttackler") == [
        "abnormal_gradient", "amplified_gradient", "reduced_gradient", "passive_loss",
        "low_activation", "unexpected_loss", "no_more_gain",
    ]  # fmt: skip
    protected = {problem.name() for problem in choose("bttackler") if problem.yields_to_the_best}
    assert protected == {"reduced_gradient", "passive_loss", "low_activation", "no_more_gain"}
    assert names("training_doctor") == [
        "large_gradient", "small_gradient", "unstable_gradient", "plateau", "loss_explosion",
        "overfitting",
    ]  # fmt: skip


def test_names_take_the_rules_and_thresholds_of_the_profile() -> None:
    assert choose("default", ["dying_relu"]) == (DyingRelu(share=0.9),)
    assert choose("autotrainer", ["dying_relu"]) == (autotrainer.DyingRelu(share=0.7),)
    assert choose("bttackler", ["dying_relu"]) == (DyingRelu(),)


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
            f"There is no profile 'autotraner'; did you mean 'autotrainer'? Possible: {BY_NAME}.",
            id="profile",
        ),
        pytest.param(
            "x",
            None,
            f"There is no profile 'x'. Possible: {BY_NAME}.",
            id="nothing-like-it",
        ),
        pytest.param(
            "default",
            ["dying_rely"],
            f"There is no problem 'dying_rely'; did you mean 'dying_relu'? Possible: {NAMES}.",
            id="problem",
        ),
        pytest.param(
            "default", [7], f"There is no problem '7'. Possible: {NAMES}.", id="number-as-problem"
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
        pytest.param(
            "default",
            [NonFinite],
            "problems must be a list of names or Problem objects, got the class NonFinite in it.",
            id="class",
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


def test_the_name_of_a_profile_stands_for_its_problems() -> None:
    mine = DyingRelu(share=0.5)
    chosen = choose(problems=["default", mine, "plateau"])
    assert chosen[: len(PROFILES["default"])] != PROFILES["default"]  # one has other thresholds
    assert [each.name() for each in chosen] == [*names("default"), "plateau"]
    assert mine in chosen
