"""What a strategy of repair is: it knows its problems and remedies, and which run comes next."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Protocol

from sickbay.arguments import bad_argument, check_choice
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES, choose
from sickbay.remedies import Remedy
from sickbay.repairs.autotrainer import AutoTrainer
from sickbay.repairs.outcome import Outcome
from sickbay.repairs.race import Race
from sickbay.repairs.search import Search

StrategyName = Literal["race", "autotrainer"]


class Strategy(Protocol):
    """A way to repair a run.

    Attributes:
        profile: The profile that it uses unless another is given.
        budget: How many training runs all attempts together may take, unless `budget` is given.
        most: How many they may take as long as none meets the yardstick.
        check_every: Epochs between two checks. None means that every step is judged.
    """

    profile: ClassVar[str]
    budget: ClassVar[float]
    most: ClassVar[float]

    @property
    def check_every(self) -> int | None: ...

    def remedies(self) -> Mapping[str, Sequence[Remedy]]:
        """Return the remedies for each problem, in their order."""

    def adapt(self, problem: Problem) -> Problem:
        """Return a problem of a profile with the strategy's own thresholds."""

    def run(self, search: Search) -> Outcome:
        """Repair a run."""


STRATEGIES: Mapping[str, Strategy] = {"race": Race(), "autotrainer": AutoTrainer()}


def check_strategy(strategy: object) -> Strategy:
    """Return a strategy by its name or as it is given; raise `UsageError` if it is none."""
    if isinstance(strategy, Race | AutoTrainer):
        return strategy
    if not isinstance(strategy, str):
        raise bad_argument(
            "strategy", "'race', 'autotrainer' or sickbay.AutoTrainer(...)", strategy
        )
    return STRATEGIES[check_choice("strategy", strategy, STRATEGIES)]


def problems_for(
    strategy: Strategy, profile: str | None, problems: Sequence[str | Problem] | None
) -> list[Problem]:
    """Return the problems to look for. Those of a profile get the strategy's thresholds."""
    name = strategy.profile if profile is None else check_choice("profile", profile, PROFILES)
    chosen = choose(name, problems)
    given = {id(each) for each in problems or ()}
    return [each if id(each) in given else strategy.adapt(each) for each in chosen]
