from dataclasses import dataclass
from importlib.metadata import EntryPoint

import pytest

from sickbay import plugins, problems
from sickbay.errors import UsageError
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import NonFinite, OscillatingAccuracy, Problem
from sickbay.problems.by_name import EVERY, find, installed
from sickbay.problems.profiles import choose


class TooQuiet(Problem):
    """Nothing at all is found."""

    advice = "make some noise"

    def check(self, history: History) -> Finding | None:
        return self.found(history, "too quiet")


@dataclass(frozen=True, kw_only=True)
class TooLoud(Problem):
    """Everything is found."""

    limit: float = 3.0

    def check(self, history: History) -> Finding | None:
        return self.found(history, "too loud")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package brings `too_quiet`, and a problem with one of our names."""
    quiet = EntryPoint("quiet", f"{__name__}:TooQuiet", "sickbay.problems")
    ours = EntryPoint("ours", "sickbay.problems.non_finite:NonFinite", "sickbay.problems")
    monkeypatch.setattr(plugins, "_declared", {"sickbay.problems": (quiet, ours)}.get)


@pytest.mark.usefixtures("package")
def test_a_problem_of_another_package_is_found_by_name() -> None:
    assert find("too_quiet") is TooQuiet
    assert installed() == {"too_quiet": TooQuiet, **EVERY}
    (problem,) = choose(problems=["too_quiet"])
    assert problem.name() == "too_quiet"


def test_other_packages_are_not_looked_at_for_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_declared", None)  # would raise
    assert find("non_finite") is NonFinite


@pytest.mark.usefixtures("package")
def test_an_unknown_name_lists_those_of_other_packages_too() -> None:
    with pytest.raises(UsageError, match=r"no problem 'too_quit'; did you mean 'too_quiet'"):
        find("too_quit")


def test_the_old_name_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="'oscillating_loss' is now called 'oscill"):
        assert find("oscillating_loss") is OscillatingAccuracy
    with pytest.warns(DeprecationWarning, match="OscillatingLoss is now called Oscill"):
        assert problems.OscillatingLoss is OscillatingAccuracy  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="has no attribute 'Oscillating'"):
        _ = problems.Oscillating  # type: ignore[attr-defined]
