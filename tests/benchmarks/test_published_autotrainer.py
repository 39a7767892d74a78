"""AutoTrainer's tables, redone: the models and their training."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from benchmarks.published.autotrainer import published as paper
from benchmarks.published.autotrainer import tables_of_training
from benchmarks.published.autotrainer.__main__ import arguments
from benchmarks.published.autotrainer.cases import Case, all_cases, quick_cases
from benchmarks.published.autotrainer.cost import measure_memory
from benchmarks.published.autotrainer.data_sets import DATA_SETS, MADE
from benchmarks.published.autotrainer.jobs import Job, Runner, all_jobs
from benchmarks.published.autotrainer.prepare import prepare
from benchmarks.published.autotrainer.record import SWEPT, record, variants
from benchmarks.published.autotrainer.solutions import NUMBERS, ORDER, number_of, remedies_of
from benchmarks.published.autotrainer.train import EndOfEpochs, train
from sickbay.problems.profiles import PROFILES
from sickbay.remedies.published.autotrainer import SOLUTIONS

ABOUT = {"command": "x", "torch": "2", "cores": 16}
SCORE = {"accuracy": 0.4, "precision": 0.3, "recall": 0.4}


def test_every_data_set_has_every_problem_but_texts() -> None:
    cases = all_cases()
    assert 150 <= len(cases) <= 200
    assert len({case.name for case in cases}) == len(cases)
    assert set(ORDER) == set(paper.SHORT) == set(SOLUTIONS)
    for data in DATA_SETS:
        counts = Counter(case.problem for case in cases if case.data == data)
        missing = set(paper.SHORT) - set(counts)
        assert missing == (
            {"dying_relu", "abnormal_data"} if data in ("imdb", "reuters") else set()
        )
        assert counts[""] >= 5
        assert min(counts.values()) >= 3


@pytest.mark.parametrize("case", quick_cases(), ids=lambda case: case.problem or "healthy")
def test_a_case_trains_for_an_epoch(case: Case) -> None:
    short = Case(case.name, case.problem, case.plan, 1, case.seed)
    result = record(short, None, case.seed)
    assert len(result["accuracy"]) == 1
    assert 0 <= result["score"]["accuracy"] <= 1


@pytest.mark.parametrize(
    "case", [each for each in all_cases() if each.data in MADE], ids=lambda case: case.name
)
def test_a_case_can_be_built(case: Case) -> None:
    prepared = prepare(case, None)
    inputs, targets = prepared.training
    loss = prepared.recipe.loss(prepared.recipe.model(inputs[:4]), targets[:4])
    assert loss.ndim == 0
    assert len(prepared.validation[0]) == 200


def test_training_is_the_same_as_in_a_repair() -> None:
    case = quick_cases()[0]
    short = Case(case.name, "", case.plan, 3, case.seed)
    runner = Runner(None, 60)
    plain, repaired = runner(Job("record", short)), runner(Job("repair", short, "autotrainer"))
    assert repaired["attempts"][0]["result"] == "healthy"
    assert plain["score"] == repaired["score"]


def test_a_job_that_takes_too_long_is_noted() -> None:
    result = Runner(None, 0.01)(Job("record", quick_cases()[0]))
    assert result["too_long"] == 0.01


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_the_new_process() -> None:
    ballast = bytearray(800 << 20)  # touched, so it is in this process's memory
    measured = measure_memory(quick_cases()[0], None, "plain")["bytes"]
    assert 0 < measured < len(ballast)


def test_readings_are_taken_at_the_end_of_epochs() -> None:
    assert [step for step in range(12) if EndOfEpochs(4, 2)(step)] == [0, 7]


def test_every_curve_holds_the_published_default() -> None:
    default = {each.name(): each for each in PROFILES["autotrainer"]}
    for (problem, threshold), (letter, values) in SWEPT.items():
        assert tables_of_training.DEFAULTS[letter] == getattr(default[problem], threshold)
        assert tables_of_training.DEFAULTS[letter] in values
    assert len(variants(0.7)) == sum(len(values) for _, values in SWEPT.values())


def test_every_solution_of_the_paper_has_remedies() -> None:
    for problem, solutions in ORDER.items():
        listed = [number_of(each.key) for each in SOLUTIONS[problem]]
        assert tuple(dict.fromkeys(listed)) == solutions
        assert all(remedies_of(problem, solution) for solution in solutions)
    assert set(NUMBERS.values()) == {f"S{number}" for number in range(1, 10)}


def test_jobs_without_data_use_made_up_data_only() -> None:
    jobs = all_jobs(quick=False, has_data=False)
    assert {job.case.data for job in jobs} == set(MADE)
    assert len({job.key for job in jobs}) == len(jobs)


@pytest.mark.parametrize(
    "words", ["run", "run --json /nowhere/x", "run --json x --only all", "render /nowhere"]
)
def test_bad_arguments_are_refused(words: str) -> None:
    with pytest.raises(SystemExit):
        arguments(words.split())


def test_the_same_seed_trains_the_same() -> None:
    case = quick_cases()[1]
    short = Case(case.name, case.problem, case.plan, 2, case.seed)
    assert train(prepare(short, None), 0) == train(prepare(short, None), 0)
