from dataclasses import FrozenInstanceError, dataclass, fields
from math import inf, nan
from typing import Any

import pytest

from sickbay.errors import SickbayError, UsageError
from sickbay.problems import VanishingGradient
from sickbay.thresholds import Tunable, choice, is_number, parse, settings, switch, threshold


@dataclass(frozen=True, kw_only=True)
class TwoWordsHTTP(Tunable):
    factor: float = threshold(2.0, "How much.", above=1)
    window: int = threshold(5, "How long.", least=2)
    least: float = threshold(5.0, "How little.", least=2)
    free: float = threshold(-3.0, "Anything.")
    both: float = threshold(1.0, "Two bounds.", above=0, least=0.5)
    share: float = threshold(0.5, "A part.", least=0, most=1)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        pytest.param(
            "factor", 1, "factor must be a number above 1, got 1.", id="above-at-the-limit"
        ),
        pytest.param(
            "factor", 0.5, "factor must be a number above 1, got 0.5.", id="above-below-it"
        ),
        pytest.param("factor", nan, "factor must be a number above 1, got nan.", id="above-nan"),
        pytest.param(
            "window", 1, "window must be a whole number of at least 2, got 1.", id="least-below-it"
        ),
        pytest.param(
            "both", nan, "both must be a number above 0 and at least 0.5, got nan.", id="both-nan"
        ),
        pytest.param(
            "both",
            0.25,
            "both must be a number above 0 and at least 0.5, got 0.25.",
            id="both-least",
        ),
        pytest.param(
            "both", -1, "both must be a number above 0 and at least 0.5, got -1.", id="both-above"
        ),
        pytest.param(
            "share",
            7,
            "share must be a number of at least 0 and at most 1, got 7.",
            id="most-above-it",
        ),
        pytest.param(
            "share",
            nan,
            "share must be a number of at least 0 and at most 1, got nan.",
            id="most-nan",
        ),
        pytest.param("free", "3", "free must be a number, got '3'.", id="text"),
        pytest.param(
            "least", nan, "least must be a number of at least 2, got nan.", id="least-nan"
        ),
        pytest.param(
            "window", None, "window must be a whole number of at least 2, got None.", id="none"
        ),
        pytest.param(
            "window", 2.5, "window must be a whole number of at least 2, got 2.5.", id="fraction"
        ),
        pytest.param(
            "window", inf, "window must be a whole number of at least 2, got inf.", id="inf"
        ),
        pytest.param("factor", [2], "factor must be a number above 1, got [2].", id="list"),
    ],
)
def test_what_is_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        TwoWordsHTTP(**{name: value})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("factor", 1.001, id="above-the-limit"),
        pytest.param("factor", inf, id="inf"),
        pytest.param("window", 2, id="at-least"),
        pytest.param("free", -1e9, id="no-bound"),
        pytest.param("both", 0.5, id="both"),
    ],
)
def test_what_is_taken(name: str, value: float) -> None:
    assert getattr(TwoWordsHTTP(**{name: value}), name) == value  # type: ignore[arg-type]


def test_the_declaration_is_the_documentation() -> None:
    factor, window, _, free, both, share = fields(TwoWordsHTTP)
    assert (factor.default, dict(factor.metadata)) == (
        2.0,
        {"doc": "How much.", "above": 1, "least": None, "most": None},
    )
    assert (window.default, window.metadata["least"]) == (5, 2)
    assert (free.metadata["above"], free.metadata["least"]) == (None, None)
    assert (both.metadata["doc"], share.metadata["most"]) == ("Two bounds.", 1)


def test_a_usage_error_is_a_value_error_too() -> None:
    assert issubclass(UsageError, ValueError)
    assert issubclass(UsageError, SickbayError)


def test_thresholds_stay_as_made() -> None:
    with pytest.raises(FrozenInstanceError):
        TwoWordsHTTP().factor = 3.0  # type: ignore[misc]
    assert TwoWordsHTTP() == TwoWordsHTTP(factor=2)


def test_the_name_is_the_class_in_snake_case() -> None:
    assert VanishingGradient.name() == VanishingGradient().name() == "vanishing_gradient"
    assert Tunable.name() == "tunable"


@dataclass(frozen=True, kw_only=True)
class Mixed(Tunable):
    loud: bool = switch(False, "Say more.")
    colour: str = choice("red", "Which one.", ("red", "blue"))
    size: int = threshold(3, "How large.", least=1)


@pytest.mark.parametrize("value", [1, 0, 7, "yes", None])
def test_a_switch_is_on_or_off(value: Any) -> None:
    with pytest.raises(UsageError, match=f"loud must be True or False, got {value!r}"):
        Mixed(loud=value)
    assert Mixed(loud=True).loud is True


def test_only_numbers_can_be_varied() -> None:
    assert [each.name for each in settings(Mixed) if is_number(each)] == ["size"]


def test_settings_are_read_from_text() -> None:
    loud, colour, size = settings(Mixed)
    assert [parse("x", loud, word) for word in ("true", "False")] == [True, False]
    assert parse("x", colour, "blue") == "blue"
    assert parse("x", size, "12") == 12
    with pytest.raises(UsageError, match="x must be true or false, got 'on'"):
        parse("x", loud, "on")


def test_a_class_that_is_no_dataclass_is_refused() -> None:
    class Forgotten(Tunable):
        size: int = threshold(3, "How large.", least=1)

    with pytest.raises(UsageError, match=r"Forgotten must be a dataclass\(frozen=True"):
        Forgotten()
    assert dataclass(frozen=True, kw_only=True)(Forgotten)().size == 3
