"""Searchers: the algorithms that choose the next trial.

Optuna's samplers choose among what is left of the pool, rather than anywhere in the space: in so
many dimensions the nearest that is left has little in common with what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator
from optuna.trial import TrialState, create_trial

from benchmarks.tuning.pool_part import Array, Part
from benchmarks.tuning.search_spaces import Config, OneOf, Range, place
from benchmarks.tuning.simulated_search import Searcher

FIRST = 10  # drawn at random, before there is anything to learn from
optuna.logging.set_verbosity(optuna.logging.ERROR)


class Random:
    """Chooses at random among the trials left."""

    def __init__(self, _part: Part, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def ask(self, left: Sequence[int]) -> int:
        return int(self._rng.choice(left))

    def tell(self, trial: int, score: float) -> None:
        pass


class Pool:
    """The configurations of a part as a sampler sees them, and which of them are left."""

    def __init__(self, part: Part) -> None:
        self.distributions = {name: distribution(each) for name, each in part.space.items()}
        self.left: list[int] = []
        self._columns = {
            name: np.array([each.to_internal_repr(config[name]) for config in part.configs])
            for name, each in self.distributions.items()
        }
        self._configs = [dict(each) for each in part.configs]
        self._points: Array | None = None

    def columns(self) -> dict[str, Array]:
        """Return the parameters of what is left, one by one."""
        return {name: each[self.left] for name, each in self._columns.items()}

    def points(self, space: Any) -> Array:
        """Return what is left as the points of a Gaussian process."""
        if self._points is None:
            nobody: list[Any] = [None] * len(self._configs)
            self._points = np.asarray(space.get_normalized_params(nobody, self._configs))
        return self._points[self.left]


class Asked:
    """A sampler of Optuna behind `ask` and `tell`."""

    def __init__(self, part: Part, seed: int, pool: Pool, sampler: BaseSampler) -> None:
        self._part, self._pool = part, pool
        self._first = Random(part, seed)
        self._tried = 0
        self._study = optuna.create_study(sampler=sampler, direction="maximize")

    def ask(self, left: Sequence[int]) -> int:
        self._tried += 1
        if self._tried <= FIRST:
            return self._first.ask(left)
        self._pool.left = list(left)
        trial = self._study.ask(self._pool.distributions)
        self._study.tell(trial, state=TrialState.FAIL)  # `tell` adds the trial that was run instead
        return nearest(self._part, trial.params, left)

    def tell(self, trial: int, score: float) -> None:
        params = dict(self._part.configs[trial])
        tried = create_trial(params=params, distributions=self._pool.distributions, value=score)
        self._study.add_trial(tried)


class Tpe(Asked):
    """The tree-structured Parzen estimator."""

    def __init__(self, part: Part, seed: int) -> None:
        pool = Pool(part)
        super().__init__(part, seed, pool, PoolTpe(pool, seed))


class PoolTpe(TPESampler):
    def __init__(self, pool: Pool, seed: int) -> None:
        super().__init__(seed=seed, n_startup_trials=1)
        self._pool = pool
        self._parzen_estimator_cls = PoolEstimator

    def _build_parzen_estimator(self, *args: Any, **kwargs: Any) -> _ParzenEstimator:
        made = super()._build_parzen_estimator(*args, **kwargs)
        assert isinstance(made, PoolEstimator)
        made.there = self._pool.columns()
        return made


class PoolEstimator(_ParzenEstimator):
    """Draws candidates from what is left, in proportion to the density."""

    there: Mapping[str, Array]

    def sample(self, rng: np.random.RandomState, size: int) -> dict[str, Array]:
        density = self.log_pdf(dict(self.there))
        chances = np.exp(density - density.max())
        chosen = rng.choice(len(chances), size, p=chances / chances.sum())
        return {name: each[chosen] for name, each in self.there.items()}


class Gp(Asked):
    """A Gaussian process."""

    def __init__(self, part: Part, seed: int) -> None:
        pool = Pool(part)
        super().__init__(part, seed, pool, PoolGp(pool, seed))


class PoolGp(GPSampler):
    """Maximizes the acquisition function over what is left."""

    def __init__(self, pool: Pool, seed: int) -> None:
        super().__init__(seed=seed, n_startup_trials=1)
        self._pool = pool

    def _optimize_acqf(self, acqf: Any, best_params: Any) -> Array:  # noqa: ARG002
        points = self._pool.points(acqf.search_space)
        chosen: Array = points[int(np.argmax(acqf.eval_acqf_no_grad(points)))]
        return chosen


def nearest(part: Part, config: Config, left: Sequence[int]) -> int:
    """Return the trial left that is nearest to a configuration."""
    there = part.points[list(left)] - place(part.space, config)
    return left[int(np.argmin((there**2).sum(1)))]


def distribution(dimension: Range | OneOf) -> BaseDistribution:
    if isinstance(dimension, OneOf):
        return CategoricalDistribution(dimension.values)
    if dimension.whole:
        return IntDistribution(int(dimension.low), int(dimension.high))
    return FloatDistribution(dimension.low, dimension.high, log=dimension.logarithmic)


def smac(part: Part, seed: int) -> Searcher:
    from benchmarks.tuning.smac_searcher import Smac

    return Smac(part, seed)


SEARCHERS: Mapping[str, Callable[[Part, int], Searcher]] = {
    "random": Random,
    "TPE": Tpe,
    "GP": Gp,
    "SMAC": smac,
}
