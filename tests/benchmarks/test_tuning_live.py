"""Real searches of the tuning benchmark: small ones, and their tables by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np
import optuna
import pytest
import torch

from benchmarks.tuning import live_search
from benchmarks.tuning.command_options import PROFILED
from benchmarks.tuning.live_command import agreement, reasons, searched, summary, told_cost
from benchmarks.tuning.live_search import (
    LiveSearch,
    LiveTrial,
    data_of,
    ended,
    foretold,
    made_small,
    plain,
    search,
)
from benchmarks.tuning.record_pool import Plan
from benchmarks.tuning.search_spaces import SPACES, draw
from sickbay.tuning.recorded_search import RecordedTrial
from tests.benchmarks.made_up_pool import trial

TASK = "ex96_trans"


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """A search is content with one thread; the tests after it are not."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def order(tmp_path: Path) -> LiveSearch:
    rates = np.random.default_rng(0).standard_normal((660, 8)).cumsum(0)
    np.savetxt(tmp_path / "exchange_rate.csv", rates, delimiter=",", header="a,b,c,d,e,f,g,h")
    return LiveSearch(Plan(TASK, tmp_path, epochs=2), quick=True, seconds=1e9, rule="tuning")


def test_a_trial_is_the_same_in_both_searches(order: LiveSearch) -> None:
    study = optuna.create_study()
    mine = ended(order, data_of(order), 3, perf_counter(), study)
    theirs = plain(order, data_of(order), 3, perf_counter(), study)
    assert mine.values == theirs.values
    assert len(mine.values) == 2
    assert 0 < mine.watching < mine.seconds
    assert theirs.recorded is not None
    assert [each.scalars["val_loss"] for each in theirs.recorded.epochs] == theirs.values
    told = foretold(TASK, [theirs], epochs=2, rule="tuning")
    assert (told[3].epochs, told[3].why) == (2, mine.why)
    assert study.trials[0].params == draw(SPACES[TASK], 3)


def test_a_search_ends_between_epochs_when_its_time_is_over(
    order: LiveSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count()
    monkeypatch.setattr(live_search, "perf_counter", lambda: float(next(ticks)))
    past = search(order._replace(seconds=6, rule="plain"))
    assert [len(each.values) for each in past] == [1]


def test_only_what_is_found_ends_a_trial(
    order: LiveSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Optuna would end by the median what is below five others."""
    studies = []
    made = optuna.create_study
    monkeypatch.setattr(optuna, "create_study", lambda **how: studies.append(made(**how)))
    assert search(order._replace(seconds=0)) == []
    assert isinstance(studies[0].pruner, optuna.pruners.NopPruner)


def test_sizes_are_divided_only_for_a_quick_search(order: LiveSearch) -> None:
    config = draw(SPACES[TASK], 0)
    assert made_small(order._replace(quick=False), config) == config
    small = made_small(order, config)
    assert small["model_width"] == config["model_width"] // 8
    assert small["batch_size"] == config["batch_size"]


def lived(seed: int, values: list[float], why: str = "", cost: float = 0.0) -> LiveTrial:
    ends = [10.0 * seed + epoch + 1 for epoch in range(len(values))]
    return LiveTrial(
        seed, values, ends, 1.0, cost, why, recorded=None if why else whole(seed, values)
    )


def whole(seed: int, values: list[float]) -> RecordedTrial:
    return trial(values, seed=seed, losses=[2.3] * len(values))


def test_the_tables() -> None:
    base = [lived(0, [0.1, 0.2, 0.2, 0.2]), lived(1, [0.1, 0.3, 0.4, 0.4])]
    mine = [lived(0, [0.1], "never_learnt", 0.03), lived(1, [0.5, 0.6], cost=0.01)]
    mine.append(lived(2, [0.1], "never_learnt", 0.02))  # plain never got so far
    results = {("cifar10_lstm", "plain"): base, ("cifar10_lstm", "tuning"): mine}
    first, second = searched(results, epochs=4).rows
    assert first[:3] == ["cifar10_lstm", "plain", "2"]
    assert first[3:] == ["2", "0.4000", "0.3000", "50 %", "7.14 %", "2", "0.00%"]
    # It has three of 0.6, 0.4, 0.2, 0.1, 0.1, and 0.4 after 11 of 14 seconds; plain after 13.
    assert second[1:8] == ["tuning", "3", "0", "0.6000", "0.2667", "60 %", "21.4 %"]
    assert second[8:] == ["3", "2.00% (FAILS)"]
    untimed = searched(results, epochs=4, timed=False).rows[1]
    assert untimed[6:9] == ["-", "-", "3"]
    lost = {("cifar10_lstm", rule): [lived(0, []), *base] for rule in ("plain", "tuning")}
    assert searched(lost, epochs=4).rows[1][4:6] == ["0.4000", "0.3000"]  # what has no value
    row = agreement(results, epochs=4).rows[0]
    assert row[:4] == ["cifar10_lstm", "tuning", "2", "1"]
    assert row[6] == "3"
    lines = summary(results, agreement(results, epochs=4))
    assert (
        lines[0] == f"{row[5]} of 2 trials ended live for the same reason as in the played search."
    )
    assert lines[1] == "Watching with `tuning` cost 2.00% to 2.00%; it must be at most 1%."
    why = reasons(results, epochs=4).rows[0]
    assert why[:4] == ["cifar10_lstm", "tuning", "never_learnt", "2"]


@pytest.mark.parametrize("rule", PROFILED)
def test_a_search_of_so_many_trials_with_each_profile(order: LiveSearch, rule: str) -> None:
    past = search(order._replace(trials=2, rule=rule))
    assert [each.seed for each in past] == [0, 1]
    assert all(each.values and each.watching < each.seconds for each in past)


def test_what_watching_may_cost() -> None:
    assert told_cost("plain", 0.2) == "20.00%"
    assert told_cost("bttackler", 0.05) == told_cost("bttackler_paper", 0.05) == "5.00% (holds)"
    assert told_cost("bttackler", 0.051) == "5.10% (FAILS)"
