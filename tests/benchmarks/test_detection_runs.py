"""Selecting and recording runs, and varying thresholds over them."""

import io
import math
import os
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import worker_pool
from benchmarks.detection.case import Case
from benchmarks.detection.command_options import arguments, select
from benchmarks.detection.judge_runs import Run
from benchmarks.detection.record_runs import RESULT, Dense, plan_of, result_of
from benchmarks.detection.threshold_sweep import TrackingCauses, Trial, moved, row, values
from sickbay.errors import UsageError
from sickbay.probe.guard import Guard
from sickbay.problems import DyingRelu
from sickbay.problems.profiles import PROFILES
from tests.benchmarks.made_up_runs import High, Low, chart, run


def case(name: str, seed: int, quick: bool = False) -> Case:
    return Case(name, "", seed, "digits", lambda _: 0.0, None, quick=quick)


CASES = [case("a/x-0", 0, quick=True), case("a/x-1", 1), case("b/y-1", 1), case("smoke/z", 0)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "a/x-0 a/x-1 b/y-1 smoke/z"),
        ("--half reporting", "a/x-1 b/y-1 smoke/z"),
        ("--half calibration --only x", "a/x-0"),
        ("--quick", "a/x-0"),
        ("--only *-1", "a/x-1 b/y-1"),
        ("--only b/y-1", "b/y-1"),
    ],
)
def test_options_select_runs(words: str, expected: str) -> None:
    given = arguments("", words.split())
    assert [each.name for each in select(CASES, given)] == expected.split()


def test_a_pattern_without_runs_lists_the_families() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'b/y-1'\? Families: a, b, smoke\."):
        select(CASES, arguments("", ["--only", "b/y-2"]))


@pytest.mark.parametrize(
    "words", ["--json /nowhere/x", "--data /nowhere", "--fresh --recorded", "--list --check"]
)
def test_bad_arguments_are_refused(words: str) -> None:
    with pytest.raises(SystemExit):
        arguments("", words.split())


def test_the_recording_doctor_reads_often() -> None:
    steps = [step for step in range(45) if Dense().due(step)]
    assert steps == [*range(20), 20, 30, 40]
    assert Dense().due(0) == {"gradient", "weight", "batch", "activation"}


def test_only_a_complete_result_counts_as_recorded(tmp_path: Path) -> None:
    assert result_of(tmp_path, "a") is None
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / RESULT).write_text('{"score": "nan", "twin_')
    assert result_of(tmp_path, "a") is None
    (tmp_path / "a" / RESULT).write_text('{"score": "nan", "twin_score": null, "steps": 3}')
    assert repr(result_of(tmp_path, "a")) == "{'score': nan, 'twin_score': None, 'steps': 3}"


def test_the_text_of_a_plan_is_the_same_in_every_process() -> None:
    def train(_watch: object, told: frozenset[str]) -> float:
        return float(len(told))

    told = frozenset(["outputs", "accuracy", "epochs"])
    planned = Case("a", "", 0, "digits", partial(train, told=told), None)
    listed = "frozenset({'accuracy', 'epochs', 'outputs'})"
    assert listed in plan_of(planned)


def test_a_failure_does_not_stop_the_others() -> None:
    console = Console(file=io.StringIO())
    results = dict(worker_pool.work(math.sqrt, [4.0, -1.0, 9.0], "", console, workers=1))
    assert (results[4.0], results[9.0]) == (2.0, 3.0)
    assert isinstance(results[-1.0], worker_pool.Failure)
    assert "ValueError: math domain error" in results[-1.0].why


def test_a_worker_that_dies_does_not_stop_the_others() -> None:
    console = Console(file=io.StringIO())
    results = list(worker_pool.work(os._exit, [1, 2, 3, 4], "", console, workers=1))
    assert sorted(item for item, _ in results) == [1, 2, 3, 4]
    assert {result for _, result in results} == {worker_pool.Failure("a worker process died")}


def test_every_threshold_of_the_default_profile_is_varied_around_its_default() -> None:
    trials = moved([])
    for problem in PROFILES["default"]:
        for name, default in vars(problem).items():
            tried = [key[2] for key in trials if key[:2] == (problem.name(), name)]
            assert (default in tried) == math.isfinite(default)
            assert not tried or (len(tried) >= 4 and max(tried) > default)
    for (name, threshold, value), changed in trials.items():
        assert (changed.name(), vars(changed)[threshold]) == (name, value)
    with pytest.raises(UsageError, match="There is no problem 'dying_rely'; did you mean 'dying_r"):
        moved(["dying_rely"])


@pytest.mark.parametrize("default", [0.0, 1e-6, 0.05, 0.7, 0.999, 3.0, 1e4, 1, 3, 100])
def test_values_around_a_default_are_sorted_and_include_it(default: float) -> None:
    around = values(default, None, 0)
    assert around == sorted(set(around))
    assert any(value == pytest.approx(default, rel=1e-12) for value in around)
    assert not 0 < default < 1 or max(around) < 1


def test_a_varied_problem_is_reported_unless_another_explains_it(tmp_path: Path) -> None:
    recorded = chart(tmp_path / "run", [1.0, 3.0, 9.0], 0.0)
    guard = Guard(lambda *_: None)
    causes = TrackingCauses([High(), Low()], guard)
    trials = {limit: Trial(High(limit=limit)) for limit in (2.0, 5.0, 20.0)}
    explained, alone = Trial(Low()), Trial(Low())
    for history in recorded.replay():
        causes.judge(history)
        for trial in (*trials.values(), explained):
            trial.ask(history, causes)
    assert [trial.said for trial in trials.values()] == [1, 2, None]
    assert (explained.found, explained.said) == (True, None)
    causes = TrackingCauses([Low()], guard)
    for history in recorded.replay():
        causes.judge(history)
        alone.ask(history, causes)
    assert alone.said == 2


def test_precision_and_recall_of_a_varied_threshold() -> None:
    key = ("dying_relu", "share", DyingRelu().share)
    heard: list[tuple[Run, set[tuple[str, str, float]], dict[tuple[str, str, float], int]]] = [
        (run("dying_relu"), {key}, {key: 4}),
        (run("dying_relu"), {key}, {}),  # seen, but explained by something else
        (run("dying_relu", first=9), {key}, {key: 4}),  # too early to be true
        (run("dying_relu"), set(), {}),
        (run("dead_units"), {key}, {key: 4}),
        (run("non_finite"), {key}, {key: 4}),
        (run(""), {key}, {key: 4}),
    ]
    found = row(key, heard)
    assert (found["recall"], found["precision"]) == (3 / 4, 2 / 5)
    assert (found["said"], found["healthy"]) == (5, 1)


def test_a_sweep_covers_everything_by_default_and_intervals_have_a_default() -> None:
    given = arguments("", ["--sweep"])
    assert (given.sweep, given.every) == ([], None)
    assert arguments("", ["--every"]).every == "1,2,3,5,9,15"
