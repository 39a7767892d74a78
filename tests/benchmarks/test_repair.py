"""The repair benchmark: its runs, its figures, and one run from end to end."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.detection.figures import AUTOTRAINER_EIGHT
from benchmarks.repair import count_odds, tables
from benchmarks.repair.__main__ import SHIPPED, arguments, main, select
from benchmarks.repair.repair_cases import prepare_run, repair_cases
from benchmarks.repair.repair_run import run_case
from sickbay.remedies import odds


def record(problem: str = "dying_relu", **race: Any) -> dict[str, Any]:
    result = {
        "detected": True, "repaired": True, "score": 0.9, "extra": 0.2, "seconds": 2.0,
        "remedies": ["a"], "changed": True,
    }  # fmt: skip
    return {
        "name": "x",
        "problem": problem,
        "plain": {"score": 0.4, "seconds": 1.0},
        "twin": {"score": 0.9},
        "race": {**result, **race},
    }


def test_figures() -> None:
    records = [record(), record(repaired=False, score=0.38, extra=1.0)]
    values = tables.figures(records, "race")
    assert values["repaired, of those detected"] == 0.5
    assert values["mean gain where the plain score is below 0.6"] == pytest.approx(0.24)
    assert values["repaired but worse by more than 1 point"] == 1
    assert values["extra epochs, median"] == pytest.approx(0.6)


def test_only_detected_runs_count() -> None:
    values = tables.figures([record(), record(detected=False, repaired=False)], "race")
    assert values["repaired, of those detected"] == 1


def test_no_row_is_dropped() -> None:
    sheet = tables.by_problem([record(), record("exploding_gradient", detected=False)], "race")
    assert [row[:4] for row in sheet.rows] == [
        ["exploding_gradient", "1", "0", "-"],
        ["dying_relu", "1", "1", "1 (100.0%)"],
        ["all", "2", "1", "1 (100.0%)"],
    ]
    assert {len(row) for row in sheet.rows} == {len(sheet.columns)}


def test_problems_as_the_paper_defines_them() -> None:
    stopped = {"stopped": "vanishing_gradient", "repaired": True}
    others = [{"stopped": "", "repaired": False}, {"stopped": "dying_relu", "repaired": False}]
    sick = [{"problem": "x", "autotrainer": each} for each in (stopped, *others)]
    rows = {row[0]: row[1:] for row in tables.of_the_paper(sick).rows}
    assert rows["vanishing_gradient"] == ["1", "1 (100.0%)"]
    assert rows["dying_relu"] == ["1", "0 (0.0%)"]
    assert rows["abnormal_data"] == ["0", "-"]
    assert rows["all"] == ["2", "1 (50.0%)"]
    assert rows["at least 90% of all"] == ["", "FAILS"]


def test_healthy_runs_must_not_change() -> None:
    values = tables.figures([record("", changed=True), record("", changed=False)], "race")
    assert values == {"healthy runs that were changed": 1}


def test_odds_are_counted_by_problem_found() -> None:
    tried = {"a": {"worked": True}, "b": {"worked": False}, "c": {"declined": "no"}}
    records = [{"found": "dead_units", "tried": tried}] * 2
    table = count_odds.table(records, {"command": "x"})
    assert table["counts"] == {"dead_units": {"a": [2, 2], "b": [0, 2]}}


def test_odds_are_compared_with_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_odds, "stated", lambda _problem, _remedy: 0.8)
    tried = {"a": {"worked": True}, "b": {"worked": False}, "c": {"declined": "no"}}
    result = {"found": "dead_units", "problem": "dying_relu", "tried": tried}
    ours, fixed, same = (float(row[1]) for row in count_odds.brier_sheet([result]).rows)
    assert ours == pytest.approx((0.2**2 + 0.8**2) / 2)
    assert fixed == pytest.approx((0 + 1) / 2)  # the paper repaired 24 of 24
    assert same == pytest.approx(0.25)


def test_odds_are_checked_on_other_runs_than_they_were_counted_on() -> None:
    halves = {
        kind: {each.seed % 4 for each in select(arguments(["--odds", kind]))}
        for kind in ("count", "judge")
    }
    assert halves == {"count": {0}, "judge": {1}}


def test_there_are_enough_runs() -> None:
    found = repair_cases(None, AUTOTRAINER_EIGHT)
    for problem in AUTOTRAINER_EIGHT:
        assert len([each for each in found if each.problem == problem]) >= 20


def test_options_select_halves_and_names() -> None:
    given = arguments(["--half", "calibration", "--only", "dying_relu/circles"])
    assert {each.seed % 2 for each in select(given)} == {0}
    assert all("dying_relu/circles" in each.name for each in select(given))


def one(name: str) -> Any:
    return next(
        each for each in repair_cases(None, AUTOTRAINER_EIGHT) if each.name.startswith(name)
    )


def test_the_counted_odds_are_written_to_the_file_that_the_package_ships() -> None:
    assert SHIPPED.resolve() == odds.SHIPPED


def test_a_run_is_repaired() -> None:
    result = run_case(one("improper_output/circles"), ("race",))
    assert result["race"]["detected"]
    assert result["race"]["repaired"]
    assert result["race"]["score"] > result["plain"]["score"] + 0.2
    assert all(sheet.rows for sheet in tables.sheets([result], ("race",)))


def test_each_remedy_is_tried_separately() -> None:
    result = count_odds.try_each_remedy(one("improper_loss/circles"))
    assert result["found"] == "improper_loss"
    assert result["tried"]["change_loss"]["worked"]


def test_the_same_plan_gives_the_same_model() -> None:
    case = one("dying_relu/circles")
    first, second = (prepare_run(case.plan, case.seed, None) for _ in range(2))
    assert str(first.recipe.model) == str(second.recipe.model)
    assert first.score(first.recipe.model, first.recipe) == pytest.approx(
        second.score(second.recipe.model, second.recipe)
    )


def test_a_missing_data_folder_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--data", "nowhere"])
    assert "--data must be a folder, got 'nowhere'." in capsys.readouterr().err
