"""What a sampler learns from a trial that was ended."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.samplers import GPSampler, TPESampler
from optuna.trial import TrialState

from sickbay.tuning.optuna import DiagnosisPruner, watch
from tests.tuning.loops import network
from tests.tuning.sample_problems import Outdone, Rising
from tests.tuning.test_optuna import objective, study

SICK, HEALTHY = 0.0, 0.5  # rates


def searched(*rates: float, sampler: Any = None, **options: Any) -> list[optuna.trial.FrozenTrial]:
    made = study(sampler=sampler)
    given = iter(rates)
    made.optimize(lambda trial: objective(trial, next(given), **options), n_trials=len(rates))
    return made.trials


class TestConstraint:
    def test_sick_trials_are_complete_but_not_feasible(self) -> None:
        healthy, sick = searched(HEALTHY, SICK, learns="constraint")
        assert [each.state for each in (healthy, sick)] == [TrialState.COMPLETE] * 2
        assert healthy.constraints == {"sickbay": -1.0}
        assert sick.constraints == {"sickbay": 1.0}
        assert sick.value == max(sick.intermediate_values.values())
        assert len(sick.intermediate_values) == 3

    def test_the_best_trial_is_a_feasible_one(self) -> None:
        trials = searched(SICK, HEALTHY, learns="constraint")
        made = study()
        made.add_trials(trials)
        assert made.best_trial.constraints == {"sickbay": -1.0}

    def test_a_benign_end_is_feasible(self) -> None:
        (trial,) = searched(50.0, learns="constraint", problems=[Rising()])
        assert trial.constraints == {"sickbay": -1.0}
        assert trial.user_attrs["sickbay:diagnosis"]["benign"]

    @pytest.mark.parametrize("learns", ["constraint", "penalty"])
    def test_a_trial_that_others_are_merely_better_than_is_sound(self, learns: str) -> None:
        (trial,) = searched(HEALTHY, learns=learns, problems=[Outdone()])
        assert trial.user_attrs["sickbay:diagnosis"]["problem"] == "outdone"
        assert trial.state == TrialState.COMPLETE
        assert trial.value == max(trial.intermediate_values.values())
        assert trial.constraints == ({"sickbay": -1.0} if learns == "constraint" else {})

    def test_one_that_ends_before_it_has_a_value_gets_the_worst_of_the_study(self) -> None:
        made = study()
        made.add_trial(optuna.create_trial(value=0.125))
        made.add_trial(optuna.create_trial(value=0.25))
        options = {"learns": "constraint", "metric": "other"}
        with pytest.raises(optuna.TrialPruned):
            objective(study().ask(), SICK, **options)  # there is none
        made.optimize(lambda trial: objective(trial, SICK, **options), n_trials=1)
        assert made.trials[-1].value == 0.125

    def test_a_loop_that_stops_by_itself_is_feasible_once_closed(self) -> None:
        made = study()
        trial = made.ask()
        with watch(trial, *network(HEALTHY), epochs=8, profile="bttackler", learns="constraint"):
            pass
        assert made.trials[0].constraints == {"sickbay": -1.0}

    @pytest.mark.parametrize("kind", [TPESampler, GPSampler])
    def test_samplers_keep_away_from_what_is_not_feasible(self, kind: Any) -> None:
        made = study(sampler=kind(seed=0, n_startup_trials=10))

        def guess(trial: optuna.Trial) -> float:
            x = trial.suggest_float("x", 0, 1)
            return objective(trial, HEALTHY if x > 0.7 else SICK, learns="constraint")

        made.optimize(guess, n_trials=20)
        assert {each.state for each in made.trials} == {TrialState.COMPLETE}
        assert sum(each.params["x"] > 0.7 for each in made.trials[-10:]) >= 6


class TestPenalty:
    def test_a_sick_trial_is_complete_with_the_penalty(self) -> None:
        healthy, sick = searched(HEALTHY, SICK, learns="penalty", penalty=-1.0)
        assert [each.state for each in (healthy, sick)] == [TrialState.COMPLETE] * 2
        assert healthy.value == max(healthy.intermediate_values.values())
        assert sick.value == -1.0

    @pytest.mark.parametrize(("direction", "worst"), [("maximize", 0.125), ("minimize", 0.75)])
    def test_without_one_it_is_the_worst_of_the_study(self, direction: Any, worst: float) -> None:
        made = optuna.create_study(direction=direction, pruner=DiagnosisPruner())
        for value in (0.25, 0.125, 0.75, float("inf")):
            made.add_trial(optuna.create_trial(value=value))
        made.optimize(lambda trial: objective(trial, SICK, learns="penalty"), n_trials=1)
        assert made.trials[-1].value == worst

    def test_where_there_is_no_worst_it_is_pruned(self) -> None:
        (trial,) = searched(SICK, learns="penalty")
        assert trial.state == TrialState.PRUNED


def test_gp_learns_nothing_from_what_is_pruned_as_optuna_has_it() -> None:
    made = study(sampler=GPSampler(seed=0, n_startup_trials=2))

    def guess(trial: optuna.Trial) -> float:
        trial.suggest_float("x", 0, 1)
        return objective(trial, SICK)

    made.optimize(guess, n_trials=4)  # it is still at random: none is complete
    assert {each.state for each in made.trials} == {TrialState.PRUNED}
    assert not any("gp:" in key for each in made.trials for key in each.system_attrs)
