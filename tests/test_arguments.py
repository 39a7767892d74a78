from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sickbay import arguments
from sickbay.errors import UsageError


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_a_whole_number_may_be_numpys(value: Any) -> None:
    found = arguments.check_int("epochs", value)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize(
    "value", [True, 3.0, "3", None, nan, [3], np.float64(3), np.array([3]), Unspeakable()]
)
def test_nothing_else_is_a_whole_number(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^epochs must be a whole number, got "):
        arguments.check_int("epochs", value)


@pytest.mark.parametrize(
    ("value", "fits"), [(0, False), (1, True), (5, True), (6, False), (10**400, False)]
)
def test_bounds_are_inclusive(value: int, fits: bool) -> None:
    if fits:
        assert arguments.check_int("workers", value, least=1, most=5) == value
    else:
        with pytest.raises(UsageError, match=r"a whole number of at least 1 and at most 5"):
            arguments.check_int("workers", value, least=1, most=5)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int32(1)])
def test_a_number(value: Any) -> None:
    assert arguments.check_float("budget", value, above=0, most=1) == float(value)


@pytest.mark.parametrize("value", [0, 1.5, nan, inf, True, "1", None, 1j, 10**400, Unspeakable()])
def test_nothing_else_is_a_number(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^budget must be a number above 0 and at most"):
        arguments.check_float("budget", value, above=0, most=1)


def test_infinity_only_where_allowed() -> None:
    assert arguments.check_float("limit", inf, infinite=True) == inf
    with pytest.raises(UsageError):
        arguments.check_float("limit", nan, infinite=True)


@pytest.mark.parametrize("value", [-1, 2**63, 1.0, True, "0"])
def test_invalid_seeds(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^seed must be a whole number of at least 0"):
        arguments.check_seed(value)


@pytest.mark.parametrize("value", [0, 1, None, "yes", np.bool_(True)])
def test_invalid_booleans(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^resume must be True or False"):
        arguments.check_bool("resume", value)


@pytest.mark.parametrize("value", ["", "a\0b", b"runs", 3, None, Path, Unspeakable()])
def test_invalid_paths(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^chart must be a path"):
        arguments.check_path("chart", value)


def test_a_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert arguments.check_path("chart", "runs/1") == tmp_path / "runs" / "1"


@pytest.mark.parametrize("value", ["rase", 3, ["race"], {}])
def test_an_unknown_name_lists_the_possible_ones(value: Any) -> None:
    with pytest.raises(UsageError, match=r"There is no strategy .* 'autotrainer', 'race'"):
        arguments.check_choice("strategy", value, ["race", "autotrainer"])


@pytest.mark.parametrize("value", ["x" * 10_000, list(range(10_000)), "a\nb", Unspeakable()])
def test_a_short_repr_is_short(value: Any) -> None:
    shown = arguments.short_repr(value)
    assert len(shown) < 120
    assert "\n" not in shown


@pytest.mark.parametrize("value", [0.5, inf, -inf, 3, np.float32(2)])
def test_a_real_number(value: Any) -> None:
    assert arguments.check_any_float("loss", value) == float(value)


@pytest.mark.parametrize("value", [nan, np.float32(nan)])
def test_a_real_number_may_be_nan(value: Any) -> None:
    assert isnan(arguments.check_any_float("loss", value))


@pytest.mark.parametrize("value", [True, "1", None, 1j, 10**400, Unspeakable()])
def test_invalid_real_numbers(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^loss must be a number, got "):
        arguments.check_any_float("loss", value)


@pytest.mark.parametrize("value", [[1], (1,), {1}, np.array([1]), iter([1])])
def test_iterables(value: Any) -> None:
    assert list(arguments.check_iterable("losses", value, "numbers")) == [1]


@pytest.mark.parametrize("value", ["12", b"12", {1: 2}, np.array(1), 3, None, Unspeakable()])
def test_not_iterables(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^losses must be numbers, got "):
        arguments.check_iterable("losses", value, "numbers")


@pytest.mark.parametrize("value", ["ab", b"ab", {"a": 1}, [1], ["a", Unspeakable()], None])
def test_a_list_of_one_kind(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^layers must be a list of names, got "):
        arguments.check_list("layers", value, str, "names")
    assert arguments.check_list("layers", ("a", "b"), str, "names") == ["a", "b"]
