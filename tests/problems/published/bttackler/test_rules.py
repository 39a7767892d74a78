import pytest

from sickbay.errors import UsageError
from sickbay.problems.profiles import choose
from sickbay.problems.published import bttackler, bttackler_paper

SEVEN = [
    "abnormal_gradient", "amplified_gradient", "reduced_gradient", "passive_loss",
    "low_activation", "unexpected_loss", "no_more_gain",
]  # fmt: skip


def test_both_sets_have_the_seven_rules_by_the_same_names() -> None:
    for rules in ("paper", "code"):
        assert [each.name() for each in bttackler.problems(rules)] == SEVEN


def test_each_set_is_a_profile() -> None:
    assert choose("bttackler") == bttackler.problems("code")
    assert choose("bttackler_paper") == bttackler.problems("paper")
    assert choose("bttackler_paper", ["no_more_gain"]) == (bttackler_paper.NoMoreGain(),)


def test_the_code_protects_four_and_the_paper_none() -> None:
    protected = [each.name() for each in bttackler.problems("code") if each.protection_lasts]
    assert protected == ["reduced_gradient", "passive_loss", "low_activation", "no_more_gain"]
    assert not any(each.yields_to_the_best for each in bttackler.problems("paper"))


def test_other_rules_are_refused() -> None:
    with pytest.raises(UsageError, match="There is no choice for rules 'new'"):
        bttackler.problems("new")  # type: ignore[arg-type]
