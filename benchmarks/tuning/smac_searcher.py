"""SMAC as a searcher."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from ConfigSpace import (
    CategoricalHyperparameter,
    Configuration,
    ConfigurationSpace,
    UniformFloatHyperparameter,
    UniformIntegerHyperparameter,
)
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.acquisition.maximizer import AbstractAcquisitionMaximizer
from smac.model.random_forest import RandomForest
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from benchmarks.tuning.pool_part import Part
from benchmarks.tuning.search_spaces import Config, OneOf, Range, Space

FIRST = 10  # at random, as Optuna's samplers do
AT_RANDOM = 0.2  # of those after them, as SMAC does by default


class Smac:
    """SMAC's random forest, with the acquisition maximized over what is left."""

    def __init__(self, part: Part, seed: int) -> None:
        space = ConfigurationSpace(seed=seed)
        space.add([parameter(name, each) for name, each in part.space.items()])
        self._pool = [Configuration(space, numbers(part.space, each)) for each in part.configs]
        self._places = {config: place for place, config in enumerate(self._pool)}
        self._rng = np.random.default_rng(seed)
        self._maximizer = Among(space, self._pool, seed)
        with TemporaryDirectory(prefix="smac") as folder:  # where it writes its configuration
            self._facade = self._made(space, seed, Path(folder))
        self._asked: TrialInfo | None = None

    def ask(self, left: Sequence[int]) -> int:
        self._maximizer.left = left
        self._asked = self._facade.ask()
        place = self._places.get(self._asked.config, -1)
        return place if place in left else int(self._rng.choice(left))

    def tell(self, trial: int, score: float) -> None:
        if self._asked is None:
            return
        tried = TrialInfo(self._pool[trial], seed=self._asked.seed)
        self._facade.tell(tried, TrialValue(cost=-score), save=False)

    def _made(self, space: ConfigurationSpace, seed: int, folder: Path) -> Facade:
        scenario = Scenario(
            space, output_directory=folder, n_trials=10**6, deterministic=True, seed=seed
        )
        first = self._rng.permutation(len(self._pool))[:FIRST]
        return Facade(
            scenario,
            None,  # no target function: only ask and tell are used
            model=forest(scenario),
            acquisition_maximizer=self._maximizer,
            initial_design=Facade.get_initial_design(
                scenario, n_configs=0, additional_configs=[self._pool[place] for place in first]
            ),
            intensifier=Facade.get_intensifier(scenario, max_config_calls=1),
            random_design=Facade.get_random_design(scenario, probability=0.0),
            overwrite=True,
            logging_level=False,
        )


class Among(AbstractAcquisitionMaximizer):
    """Ranks what is left, with random choices in between."""

    left: Sequence[int] = ()

    def __init__(self, space: ConfigurationSpace, pool: Sequence[Configuration], seed: int) -> None:
        super().__init__(space, seed=seed)
        self._pool = pool

    def _maximize(
        self,
        previous_configs: list[Configuration],  # noqa: ARG002
        n_points: int,  # noqa: ARG002
    ) -> list[tuple[float, Configuration]]:
        ranked = self._sort_by_acquisition_value([self._pool[place] for place in self.left])
        mixed = []
        while ranked:
            place = self._rng.randint(len(ranked)) if self._rng.rand() < AT_RANDOM else 0
            mixed.append(ranked.pop(place))
        return mixed


def forest(scenario: Scenario) -> RandomForest:
    """Return SMAC's own forest, on one thread and with fewer leaves."""
    model = Facade.get_model(scenario)
    model._rf_opts |= {"n_jobs": 1, "max_leaf_nodes": 4096}
    return model


def parameter(name: str, dimension: Range | OneOf) -> Any:
    if isinstance(dimension, OneOf):
        return CategoricalHyperparameter(name, list(range(len(dimension.values))))
    if dimension.whole:
        return UniformIntegerHyperparameter(name, int(dimension.low), int(dimension.high))
    return UniformFloatHyperparameter(
        name, dimension.low, dimension.high, log=dimension.logarithmic
    )


def numbers(space: Space, config: Config) -> dict[str, Any]:
    """Return a configuration with choices as indices."""
    return {
        name: each.values.index(config[name]) if isinstance(each, OneOf) else config[name]
        for name, each in space.items()
    }
