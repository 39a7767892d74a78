"""What is said of a run, whether it is right, and the figures that come of it."""

import json
import math
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.detection import report
from benchmarks.detection.figures import AT_ONCE, AUTOTRAINER_EIGHT, check, figures, must_hold
from benchmarks.detection.judge_runs import ACCEPTED, PAPERS, accepted, judge
from benchmarks.detection.train_live import compare, scored
from sickbay.doctor.causes import PATIENCE
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import NonFinite, Problem
from sickbay.problems.by_name import EVERY
from tests.benchmarks.made_up_runs import High, Low, chart, run, say


class Broken(Problem):
    def check(self, _: History) -> Finding | None:
        raise ZeroDivisionError("oh")


def test_a_finding_has_the_step_of_its_report(tmp_path: Path) -> None:
    losses = [1.0, 9.0, 9.0, *[1.0] * PATIENCE, 9.0]
    end = len(losses) - 1
    profiles: dict[str, list[Problem]] = {"a": [High(), Low()], "b": [Low()], "c": [NonFinite()]}
    said, troubles = judge(chart(tmp_path / "run", losses, 0.0), profiles)
    reported = [(each.problem, each.step, each.shown, each.epoch) for each in said["a"]]
    assert reported == [("high", 1, 0, 0), ("high", end, end - 1, 0)]
    assert [each.late for each in said["a"]] == [{}, {"low": end}]
    assert [(each.problem, each.step, each.epoch) for each in said["b"]] == [("low", end, 1)]
    assert (said["c"], troubles) == ([], [])


def test_an_error_in_a_problem_does_not_stop_the_others(tmp_path: Path) -> None:
    said, troubles = judge(chart(tmp_path / "run", [1.0, nan]), {"a": [Broken(), NonFinite()]})
    assert [each.problem for each in said["a"]] == ["non_finite"]
    assert troubles == ["problem broken: ZeroDivisionError('oh')"]


@pytest.mark.parametrize(
    ("problem", "score", "twin", "expected"),
    [
        pytest.param("dying_relu", 0.90, 0.95, True, id="at-the-margin"),
        pytest.param("dying_relu", 0.91, 0.95, False, id="nearly-as-good"),
        pytest.param("dying_relu", nan, 0.1, True, id="broken"),
        pytest.param("dying_relu", 0.1, nan, False, id="broken-twin"),
        pytest.param("dying_relu", 0.99, None, True, id="no-twin"),
        pytest.param("", 0.2, 0.9, True, id="healthy"),
    ],
)
def test_a_sick_run_must_do_worse_than_its_twin(
    problem: str, score: float, twin: float | None, expected: bool
) -> None:
    assert run(problem, score=score, twin_score=twin).counts is expected


def test_right_findings() -> None:
    sick = run("dying_relu", first=5)
    assert sick.is_right(say("dying_relu", 5))
    assert sick.is_right(say("dead_units", 6))
    assert sick.is_right(say("non_finite", 6, "dying_relu"))
    assert not sick.is_right(say("dying_relu", 4))  # nothing was wrong yet
    assert not sick.is_right(say("low_activation", 6))
    assert sick.is_right(say("low_activation", 6), "bttackler")
    assert not run("").is_right(say("dying_relu"))
    assert accepted("") == frozenset()
    early = replace(sick, said={"default": (say("dead_units", 1), say("dying_relu", 9))})
    assert early.answer() == 9
    late = replace(say("non_finite", 6), late={"loss_spike": 7, "dead_units": 8})
    assert sick.is_right(late)
    assert replace(sick, said={"default": [late]}).answer() == 8
    assert not run("dying_relu", first=9).is_right(late)


def test_every_name_in_the_tables_is_a_problem() -> None:
    names = {name for each in ACCEPTED.values() for name in each} | set(ACCEPTED)
    for labels in PAPERS.values():
        names |= {name for words in labels.values() for name in words.split()} | set(labels)
    assert names | {*AUTOTRAINER_EIGHT, *AT_ONCE} <= set(EVERY)


RUNS = [
    run("dying_relu", say("dying_relu", 3)),
    run("dying_relu", say("non_finite", 1), say("dead_units", 7), first=2),
    run("dying_relu", say("dead_units", 9, severity="info"), first=9),
    run("dying_relu"),
    run("non_finite", say("dead_units")),
    run("", say("dead_units", severity="info")),
    run("", say("loss_spike")),
    run(""),
    run("dying_relu", say("loss_spike"), score=0.9, twin_score=0.9),
]
NAMES = {"default": ["dying_relu", "dead_units", "non_finite", "loss_spike"]}


def test_figures() -> None:
    found = figures(RUNS, NAMES)
    one, two = found["problems"]
    assert (one["problem"], one["runs"], one["recall"]) == ("dying_relu", 4, 0.75)
    assert one["precision"] == 3 / 5  # two more say dead_units without being it
    assert (one["delay_median"], one["delay_90"], one["delay_most"]) == (3, 5, 5)
    assert (one["epochs_median"], one["epochs_90"]) == (0.3, 0.5)
    assert (one["findings"], one["wrong"], one["missed"]) == (1.0, 0.25, ["dying_relu/1-0"])
    assert (two["problem"], two["recall"], two["precision"]) == ("non_finite", 0.0, 0.0)
    assert math.isnan(two["delay_median"])
    said = {each["problem"]: each for each in found["said"]}
    assert said["dead_units"]["right"] == 2
    assert said["dead_units"]["wrong"] == {"non_finite": 1, "healthy": 1}
    (calm,) = found["healthy"]
    assert (calm["runs"], calm["alarmed"], calm["any"]) == (3, 1, 2)
    assert calm["problems"] == {"dead_units": 1, "loss_spike": 1}
    assert found["not_really_sick"] == ["dying_relu/1-1"]


def test_a_profile_is_measured_only_on_problems_it_knows() -> None:
    found = figures(RUNS, {"bttackler": ["low_activation"]})
    assert [each["problem"] for each in found["problems"]] == ["dying_relu"]


def test_limits() -> None:
    smoke = [
        run("", name="smoke/healthy"),
        run("dying_relu", say("dead_units"), name="smoke/dead"),
        run("dying_relu", say("dead_units"), say("dying_relu"), name="smoke/twice"),
        run("non_finite", say("dead_units"), name="smoke/wrong"),
        run("", say("dead_units", severity="info"), name="smoke/noisy"),
    ]
    slow = run("abnormal_data", say("non_finite", 21))
    checks = {each["what"]: each for each in must_hold([*RUNS, slow], smoke, NAMES)}
    holds = {what: each["holds"] for what, each in checks.items()}
    assert holds == {
        "recall on AutoTrainer's eight": False,
        "recall on dead_units": None,
        "recall on loss_spike": None,
        "recall on non_finite": False,
        "healthy runs with a warning": False,
        "findings per sick run": True,
        "90 % of delays, dying_relu": True,
        "90 % of delays, dead_units": None,
        "90 % of delays, abnormal_data": False,
        "90 % of delays, non_finite": None,
        "90 % of delays, loss_spike": None,
        "smoke/healthy is right": True,
        "smoke/dead is right": True,
        "smoke/twice is right": False,
        "smoke/wrong is right": False,
        "smoke/noisy is right": False,
    }
    assert checks["findings per sick run"]["value"] == 1.0
    assert checks["recall on AutoTrainer's eight"]["value"] == 4 / 5


@pytest.mark.parametrize(
    ("value", "limit", "expected"),
    [(0.9, 0.9, True), (0.89, 0.9, False), (20, -20, True), (20.5, -20, False), (nan, 1, None)],
)
def test_a_limit_is_a_minimum_or_a_maximum_if_negative(
    value: float, limit: float, expected: bool | None
) -> None:
    assert check("x", value, limit)["holds"] is expected


def test_the_tables_are_printed_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    halves = {half: figures(RUNS, NAMES) for half in report.HALVES}
    page = report.page(halves, must_hold(RUNS, [], NAMES), "default", "the command", 9)
    assert "| dying_relu | 4 | 75 % | 60 % | 3 | 5 | 5 | 0.3 | 0.5 | 1 | 0.25 |" in page
    assert "| default | 3 | 1 | 2 | dead_units 1, loss_spike 1 |" in page
    assert "`the command`" in page
    assert "about as well as their twins: dying_relu/1-1." in page
    console = Console(width=200)
    for sheet in report.sheets(halves["reporting"], "reporting", "default"):
        sheet.show(console)
    report.show_lists(RUNS, "default", console)
    report.show_in_full(RUNS[1:2], console)
    printed = capsys.readouterr().out
    assert "dying_relu/1-0: nothing" in printed
    assert "healthy/1-1: loss_spike (0)" in printed
    assert "✗ step 1: warning: non_finite" in printed
    assert "✓ step 7: warning: dead_units" in printed


def test_json_has_every_run_and_no_nan() -> None:
    odd = run("dying_relu", say("dying_relu", 3, "non_finite"), score=nan, twin_score=inf)
    text = json.dumps(report.as_json({"command": "x"}, [odd]), allow_nan=False)
    (read,) = json.loads(text)["runs"]
    assert (read["score"], read["counts"], read["first"]) == (None, True, 0)
    (said,) = read["said"]["default"]
    assert (said["problem"], said["step"], said["consequences"]) == (
        "dying_relu",
        3,
        ["non_finite"],
    )


def test_live_and_replayed_runs_are_compared_by_findings() -> None:
    live = [run("a", say("high", 9), name="same"), run("a", name="other")]
    replayed = [run("a", say("high", 1), name="same"), run("a", say("low"), name="other")]
    assert compare(live, replayed).rows == [["other", "low (0)", "nothing"]]
    twins = [replace(each, twin_score=0.52) for each in replayed[:1]]
    assert [each.counts for each in scored(live, twins)] == [False, True]
