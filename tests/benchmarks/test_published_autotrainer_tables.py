"""AutoTrainer's tables, redone: the figures, the tables and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published.autotrainer import published as paper
from benchmarks.published.autotrainer import tables, tables_of_solutions, tables_of_training
from benchmarks.published.autotrainer.__main__ import arguments, main, select
from benchmarks.published.autotrainer.data_sets import DATA_SETS
from benchmarks.published.autotrainer.figures import (
    Results,
    is_detected,
    is_named,
    precision_and_recall,
    shows,
    stages,
    treated,
)
from benchmarks.published.autotrainer.jobs import read_results
from benchmarks.published.autotrainer.page import page
from benchmarks.published.autotrainer.record import key_of

ABOUT = {"command": "x", "torch": "2", "cores": 16}
SCORE = {"accuracy": 0.4, "precision": 0.3, "recall": 0.4}


def training(case: str, problem: str = "vanishing_gradient", **changes: Any) -> dict[str, Any]:
    data = case.split("/")[0]
    about = {"experiment": "record", "case": case, "detail": "", "problem": problem, "data": data}
    holds = {problem: [4, 5, 6]} if problem else {}
    result = {"accuracy": [0.3, 0.5], "score": SCORE, "seconds": 2.0, "holds": holds, "swept": {}}
    return {**about, **result, **changes}


def attempt(number: int, problem: str = "", remedy: str = "", **changes: Any) -> dict[str, Any]:
    parent = None if number == 0 else 0
    made = {"number": number, "parent": parent, "problem": problem, "remedy": remedy}
    return {**made, "epochs": 3.0, "result": "healthy", **changes}


def repair(case: str, strategy: str = "autotrainer", **changes: Any) -> dict[str, Any]:
    attempts = [
        attempt(0, result="vanishing_gradient"),
        attempt(1, "vanishing_gradient", "replace_activation to=selu"),
    ]
    made = {**training(case), "experiment": "repair", "detail": strategy}
    made |= {"solved": True, "found": ["vanishing_gradient"], "attempts": attempts}
    return made | {"score": {**SCORE, "accuracy": 0.9}, "seconds": 5.0, **changes}


def rows_of(sheet: Any) -> dict[str, list[str]]:
    return {row[0]: list(row[1:]) for row in sheet.rows}


@pytest.mark.parametrize("table", [paper.TABLE_2, paper.COUNTS_4], ids=["table-2", "table-4"])
def test_published_counts_add_up(table: dict[str, paper.Row]) -> None:
    parts = zip(*(table[data] for data in DATA_SETS), strict=True)
    assert tuple(sum(each or 0 for each in column) for column in parts) == table[""]


def test_published_tables_are_complete() -> None:
    widths = {len(row) for table in (paper.SOLVED_6, paper.GAIN_6) for row in table.values()}
    assert widths == {len(paper.ALONE)}
    assert {len(row) for row in paper.TABLE_2.values()} == {len(paper.SOLUTIONS)}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(training("blob/a"), True, id="low"),
        pytest.param(training("blob/a", accuracy=[0.7]), True, id="at-the-limit"),
        pytest.param(training("blob/a", accuracy=[0.71, 0.1]), False, id="was-high-once"),
        pytest.param(training("cifar10/a", accuracy=[0.5]), False, id="expects-less"),
        pytest.param(training("blob/a", "oscillating_accuracy", accuracy=[0.9]), True, id="swings"),
        pytest.param(training("blob/a", "oscillating_accuracy", holds={}), False, id="no-swings"),
        pytest.param(training("blob/a", ""), True, id="sound-but-low"),
    ],
)
def test_what_counts_as_sick(result: dict[str, Any], expected: bool) -> None:
    assert shows(result) is expected


def test_models_that_do_not_show_what_they_were_built_for_are_left_out() -> None:
    results = Results.of(
        [training("blob/sick"), training("blob/learns", accuracy=[0.9]), training("blob/low", "")]
    )
    assert [each["case"] for each in results.sick] == ["blob/sick"]
    assert results.healthy == []
    assert results.left_out == ["blob/learns", "blob/low"]


def test_a_chain_of_problems_counts_each_solution() -> None:
    attempts = [
        attempt(0, result="vanishing_gradient"),
        attempt(1, "vanishing_gradient", "replace_activation to=selu", result="vanishing_gradient"),
        attempt(2, "vanishing_gradient", "insert_normalisation", result="slow_convergence"),
        attempt(3, "slow_convergence", "set_learning_rate factor=1.0", parent=2),
    ]
    solved = [("vanishing_gradient", "S1"), ("slow_convergence", "S6")]
    assert treated(repair("blob/a", attempts=attempts)) == (solved, [])
    attempts[3]["result"] = "slow_convergence"
    assert treated(repair("blob/a", attempts=attempts)) == (solved[:1], ["slow_convergence"])
    assert treated(repair("blob/a", attempts=attempts[:1])) == ([], ["vanishing_gradient"])


def test_names_of_our_own_profile_count_for_race_only() -> None:
    attempts = [attempt(0, result="saturated_activation")]
    assert is_named(repair("blob/a", "race", attempts=attempts))
    assert not is_named(repair("blob/a", attempts=attempts))
    assert not is_detected(repair("blob/a", attempts=[attempt(0)]))


def test_precision_counts_sound_models_only() -> None:
    key = key_of("vanishing_gradient", "ratio", 0.001)
    other = training("blob/c", "dying_relu", swept={key: 3})
    sound = [training(f"blob/{n}", "", accuracy=[0.9], swept={key: 3}) for n in "xyz"]
    sick = [training("blob/a", swept={key: 3}), training("blob/b")]
    results = Results.of([*sick, other, *sound])
    found = precision_and_recall(results, "vanishing_gradient", "ratio", 0.001)
    assert found == (0.25, 0.5, 3)


def test_stages_are_fifths_of_a_training() -> None:
    runs = [{"accuracy": [0.0] * 10, "holds": {"p": [first]}} for first in (1, 2, 3, 10)]
    assert stages([*runs, {"accuracy": [0.0] * 10, "holds": {}}], "p") == [0.4, 0.2, 0, 0, 0.2]


def test_tables_by_problem_keep_every_row() -> None:
    results = Results.of([training("blob/a"), repair("blob/a"), repair("blob/a", "race")])
    rows = rows_of(tables.by_problem(results))
    assert list(rows) == [*paper.SHORT.values(), "all"]
    one = "1 of 1 (100.0 %)"
    assert rows["VG"][1:] == ["1 of 1", one, "1", one, one, "1", one]
    assert rows["EG"][1:] == ["0 of 0", "0 of 0", "0", "0 of 0", "0 of 0", "0", "0 of 0"]


def test_gains_and_times_are_against_the_plain_training() -> None:
    results = Results.of([training("blob/a"), repair("blob/a"), repair("blob/a", "race")])
    short = rows_of(tables.overview(results))
    assert short["accuracy before and after, %"][1] == "40.0 to 90.0"
    assert short["mean gain of accuracy"] == ["36.42", "50.0", "50.0"]
    assert short["more time than a training, mean"][1:] == ["1.50", "1.50"]
    assert rows_of(tables.gains(results))["Blob"][0] == "27.3 (12)\n50.0 (1)\n50.0 (1)"
    solved = rows_of(tables_of_solutions.by_solution(results))
    assert solved["Blob"][:2] == ["10 / 1 / 1", "2 / 0 / 0"]


def test_a_repair_that_failed_gains_nothing() -> None:
    results = Results.of([training("blob/a"), repair("blob/a", solved=False)])
    assert rows_of(tables.gains(results))["Blob"][0] == "27.3 (12)\n- (0)\n- (0)"
    assert rows_of(tables.by_problem(results))["VG"][4] == "0 of 1 (0.0 %)"


def test_delays_are_in_epochs_and_missed_ones_are_counted() -> None:
    results = Results.of([training("blob/a"), repair("blob/a", "race")])
    row = rows_of(tables.delay(results))["VG"]
    assert row[:2] == ["0.33 / 0.00", "1.12 / 2.00"]
    assert row[5:] == ["6.22 / - (1 missed)", "-", "3.00"]


def test_a_solution_alone_counts_where_its_problem_was_found() -> None:
    one = {**repair("blob/a"), "experiment": "alone", "detail": "S2"}
    missed = {**repair("blob/b", attempts=[attempt(0)]), "experiment": "alone", "detail": "S2"}
    failed = {**repair("blob/c", solved=False), "experiment": "alone", "detail": "S2"}
    trainings = [training(f"blob/{name}") for name in "abc"]
    solved, gained = tables_of_solutions.alone(Results.of([*trainings, one, missed, failed]))
    assert rows_of(solved)["Blob"][0] == "100 / 50"
    assert rows_of(gained)["Blob"][0] == "19 / 50"


def test_frequent_problems_show_with_every_seed() -> None:
    again = [training("blob/a", experiment="again", detail=str(n)) for n in range(2)]
    rare = training("blob/b", experiment="again", accuracy=[0.9], score={**SCORE, "accuracy": 0.7})
    records = [training("blob/a"), training("blob/b"), repair("blob/a"), repair("blob/b")]
    rows = rows_of(tables_of_training.frequency(Results.of([*records, *again, rare])))
    assert rows["problem shows, % of trainings"][1] == "80.0"
    assert rows["frequent problems repaired, points"][1] == "50.0 (1)"
    assert rows["occasional problems repaired, points"][1] == "50.0 (1)"
    assert rows["occasional problems, trained again, points"][1] == "30.0"


def test_the_page_says_its_command_and_has_a_row_for_all(tmp_path: Path) -> None:
    text = page(ABOUT, [training("blob/a"), repair("blob/a")], "curves.png")
    assert text.splitlines()[2].startswith("Generated by `x`")
    for title in ("Table 2", "Table 3", "Table 4", "Table 5", "Table 6", "Figure 2", "Figure 6"):
        assert f"({title}" in text
    assert "](curves.png)" in text
    results = tmp_path / "r.jsonl"
    lines = [{"about": ABOUT}, training("blob/a"), repair("blob/a")]
    results.write_text("\n".join(map(json.dumps, lines)))
    assert main(["render", str(results), "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").is_file()
    assert (tmp_path / "page_thresholds.png").is_file()


def test_finished_jobs_are_not_selected_again(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    given = arguments(["run", "--quick", "--only", "record", "--json", str(file)])
    jobs = select(given, [])
    assert len(jobs) == 9
    file.write_text(json.dumps(training(jobs[0].case.name)) + '\n{"experiment": "rec')
    assert select(given, list(read_results([file])[1])) == jobs[1:]
