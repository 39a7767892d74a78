"""Who chooses what is tried next in the tuning benchmark."""

from __future__ import annotations

import pytest

from benchmarks.tuning.command_options import NAMES
from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.run_searches import available
from benchmarks.tuning.score_rules import Plain
from benchmarks.tuning.searchers import SEARCHERS, Asked, Gp, Tpe, nearest
from benchmarks.tuning.simulated_search import Searcher, simulate
from tests.benchmarks.made_up_pool import TASK, part, pool, trial

MANY = Part(TASK, tuple(pool(120).trials))
pytestmark = pytest.mark.filterwarnings("ignore:Please use:DeprecationWarning")  # of SMAC


def test_all_searchers_are_offered() -> None:
    assert tuple(SEARCHERS) == NAMES


def test_the_nearest_that_is_left() -> None:
    rates = [0.001, 0.01, 0.1]
    three = Part(TASK, tuple(trial([0.0], seed=0, learning_rate=rate) for rate in rates))
    asked = {**three.configs[0], "learning_rate": 0.02}
    assert nearest(three, asked, [0, 1, 2]) == 1
    assert nearest(three, asked, [0, 2]) == 2


@pytest.mark.parametrize("name", available())
def test_every_trial_is_tried_once(name: str) -> None:
    few = Part(TASK, tuple(pool(25).trials))
    past = simulate(few, SEARCHERS[name](few, 0), Plain(), budget=1000)
    assert sorted(each.trial for each in past) == list(range(25))


@pytest.mark.parametrize("name", available())
def test_a_seed_decides(name: str) -> None:
    first, again, other = (order(SEARCHERS[name](MANY, seed)) for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("name", [name for name in available() if name != "random"])
def test_searchers_learn(name: str) -> None:
    """The trials after the first ten, which are drawn at random, are better than average."""
    later = [place for seed in (0, 1) for place in order(SEARCHERS[name](MANY, seed), 22)[10:]]
    assert MANY.best[later, -1].mean() > 1.2 * MANY.best[:, -1].mean()


def order(searcher: Searcher, trials: int = 13) -> list[int]:
    return [each.trial for each in simulate(MANY, searcher, Plain(), MANY.budget(trials))]


@pytest.mark.parametrize("kind", [Tpe, Gp])
def test_what_was_tried_is_learnt_not_what_was_asked_for(kind: type[Tpe] | type[Gp]) -> None:
    two = part([0.1], [0.2])
    searcher: Asked = kind(two, 0)
    tried = searcher.ask([1])
    searcher.tell(tried, 0.2)
    best = searcher._study.best_trial
    assert (tried, best.params, best.value) == (1, two.configs[1], 0.2)
