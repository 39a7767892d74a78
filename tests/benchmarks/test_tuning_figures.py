"""The figures of the tuning benchmark, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tuning import curve_extrapolation, tables
from benchmarks.tuning.__main__ import main
from benchmarks.tuning.best_so_far_plot import best_at
from benchmarks.tuning.figures import Figure, compared, figures, is_short, is_wrong, outcome, over
from benchmarks.tuning.pool import save
from benchmarks.tuning.run_searches import OTHER, Search
from benchmarks.tuning.simulated_search import SimulatedTrial
from tests.benchmarks.made_up_pool import part, pool

# Of ten trials the last one is the best ten per cent, from its second epoch on.
TEN = part(*([0.1, 0.2, 0.15 + place / 100] for place in range(9)), [0.3, 0.5, 0.4])


@pytest.mark.parametrize(
    ("played", "wrong"),
    [
        (SimulatedTrial(9, 3, 0.0), False),
        (SimulatedTrial(9, 2, 0.0, "sick"), True),
        (SimulatedTrial(9, 1, 0.0, "no_more_gain", benign=True), True),
        (SimulatedTrial(9, 2, 0.0, "no_more_gain", benign=True), False),
        (SimulatedTrial(8, 1, 0.0, "sick"), False),
        (SimulatedTrial(9, 1, 0.0), False),
    ],
    ids=["left alone", "sick", "too early", "benign", "not a good one", "out of time"],
)
def test_good_trials_that_are_lost(played: SimulatedTrial, wrong: bool) -> None:
    assert is_wrong(TEN, played) == wrong


def test_what_came_of_a_search() -> None:
    past = [SimulatedTrial(0, 3, 0.0), SimulatedTrial(9, 2, 3.0, "sick"), SimulatedTrial(1, 1, 5.0)]
    made = outcome(TEN, past)
    assert made.scores == [0.2, 0.5, 0.1]
    assert made.last == [0.15, 0.5, 0.1]
    assert made.course == [(1.0, 0.1), (2.0, 0.2), (4.0, 0.3), (5.0, 0.5)]
    assert (made.tried, made.finished, made.ended, made.good, made.wrong) == (3, 1, 1, 1, 1)


def test_a_search_beside_plain_ones() -> None:
    """The method gets to 0.5 in 3 seconds where the plain ones need 6, or never to 0.6."""
    method = outcome(
        part([0.4, 0.5], [0.1, 0.1]), [SimulatedTrial(1, 1, 0.0), SimulatedTrial(0, 2, 1.0)]
    )
    plain = outcome(
        part([0.1, 0.2], [0.1, 0.5]), [SimulatedTrial(0, 2, 0.0), SimulatedTrial(1, 2, 4.0)]
    )
    never = outcome(part([0.6, 0.6]), [SimulatedTrial(0, 2, 3.0)])
    made = compared([method], [plain, never], part([0.5], [0.7]), budget=8.0, seed=0)
    # Joint: 0.5, 0.5, 0.2, 0.1, two of four are the method's; 0.6, 0.5, 0.1, two of three.
    assert made["top10hr"].value == pytest.approx((2 / 4 + 2 / 3) / 2)
    # All that there is, 0.7 and 0.5, would have two of four and two of three as well.
    assert made["ceiling"].value == made["top10hr"].value
    assert made["never"].value == 0.5
    assert made["tsba"].value == pytest.approx(1 - (3 + 8) / (8 + 8))
    assert made["sooner"].value == pytest.approx(1 - (3 + 8) / (6 + 4))
    assert made["best"].value == 0.5
    assert made["ten"].value == pytest.approx(0.3)
    assert made["tried"].value == 2


def test_plain_beside_itself_is_no_sooner() -> None:
    plain = outcome(part([0.1, 0.2]), [SimulatedTrial(0, 2, 0.0)])
    made = compared([plain], [plain], part([0.2]), budget=8.0, seed=0)
    assert (made["sooner"].value, made["top10hr"].value) == (0.0, 0.5)


def test_losses_are_told_as_they_are() -> None:
    lower = part([0.9, 0.3], task="ex96_trans")
    plain = outcome(lower, [SimulatedTrial(0, 2, 0.0)])
    made = compared([plain], [plain], lower, budget=8.0, seed=0)
    assert (made["best"].value, made["ten"].value) == (0.3, 0.3)


def test_searches_are_compared_with_the_plain_ones_of_other_seeds() -> None:
    two = part([0.2, 0.2], [0.5, 0.5])
    searches = [
        Search("cifar10_lstm", "TPE", "tuning", 0, [SimulatedTrial(1, 2, 0.0)]),
        Search("cifar10_lstm", "TPE", "plain", OTHER, [SimulatedTrial(0, 2, 0.0)]),
    ]
    made = figures(searches, {"cifar10_lstm": two}, {"cifar10_lstm": 4.0})
    assert list(made) == [("cifar10_lstm", "TPE", "tuning")]
    assert made["cifar10_lstm", "TPE", "tuning"]["top10hr"].value == 0.5
    assert made["cifar10_lstm", "TPE", "tuning"]["never"].value == 0


def test_rows_are_as_rules_are_listed() -> None:
    two = part([0.2, 0.2], [0.5, 0.5])
    known = [("GP", "tuning", 0), ("GP", "plain", 0), ("TPE", "median", 0)]
    others = [("GP", "plain", OTHER), ("TPE", "plain", OTHER)]
    searches = [
        Search("cifar10_lstm", *each, [SimulatedTrial(1, 2, 0.0)]) for each in known + others
    ]
    made = figures(searches, {"cifar10_lstm": two}, {"cifar10_lstm": 4.0})
    assert [cell[1:] for cell in made] == [("TPE", "median"), ("GP", "plain"), ("GP", "tuning")]


def test_intervals_hold_the_middle_of_what_varies() -> None:
    rng = np.random.default_rng(0)
    scores = [part([float(score)]) for score in rng.uniform(0.2, 0.8, 20)]
    many = [outcome(each, [SimulatedTrial(0, 1, 0.0)]) for each in scores]
    best = compared(many, many, scores[0], budget=8.0, seed=0)["best"]
    assert best.low < best.value < best.high
    error = np.std([each.scores[0] for each in many]) / 20**0.5
    assert best.high - best.low == pytest.approx(3.92 * error, rel=0.15)


def figure(value: float) -> Figure:
    return Figure(value, np.full(10, value))


def row(**values: float) -> dict[str, Figure]:
    known = {"top10hr": 0.8, "tsba": 0.5, "good": 10.0, "wrong": 0.1, "lost": 0.01}
    return {name: figure(value) for name, value in {**known, **values}.items()}


def test_lost_trials_are_counted_over_all() -> None:
    first = row(good=10.0, wrong=1.0, stunted=0.0)
    made = over([first, row(good=2.0, wrong=2.0, stunted=1.0)])
    assert (made["lost"].value, made["short"].value) == (3 / 12, 1 / 12)


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        pytest.param(SimulatedTrial(0, 1, 0.0, "sick"), True, id="far-short"),
        pytest.param(SimulatedTrial(0, 2, 0.0, "done", benign=True), False, id="at-the-limit"),
        pytest.param(SimulatedTrial(0, 3, 0.0), False, id="not-ended"),
        pytest.param(SimulatedTrial(1, 1, 0.0, "sick"), False, id="no-good-one"),
    ],
)
def test_what_is_short_of_what_it_would_have_reached(
    played: SimulatedTrial, expected: bool
) -> None:
    assert is_short(part([0.5, 0.99, 1.0], [0.1, 0.1, 0.2]), played) is expected


def test_what_must_hold() -> None:
    overall = {("tuning",): row(), ("median",): row(top10hr=0.6), ("plain",): row(top10hr=0.9)}
    assert [line[-1] for line in tables.must_hold(overall).rows] == ["holds"] * 4
    worse = {("tuning",): row(top10hr=0.7, tsba=0.4, lost=0.03), ("bttackler",): row(top10hr=0.7)}
    assert [line[-1] for line in tables.must_hold(worse).rows] == ["FAILS"] * 4


def test_what_ended_trials_is_counted() -> None:
    ended = [
        SimulatedTrial(9, 2, 0.0, "sick"),
        SimulatedTrial(0, 1, 2.0, "sick"),
        SimulatedTrial(1, 3, 3.0),
    ]
    searches = [
        Search("cifar10_lstm", "TPE", "tuning", 0, ended),
        Search("cifar10_lstm", "TPE", "plain", OTHER, ended),
    ]
    rows = tables.reasons(searches, {"cifar10_lstm": TEN}).rows
    assert rows == [["cifar10_lstm", "tuning", "sick", "2", "1.5", "1"]]


def test_the_best_at_a_moment() -> None:
    found = best_at([(1.0, 0.5), (3.0, 0.6)], np.array([0.5, 1.0, 2.9, 3.0]))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [0.5, 0.5, 0.6]


def test_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curve_extrapolation, "STEPS", 220)
    save(pool(16, first=250), tmp_path / "cifar10_lstm.zip")
    options = ["--seeds", "2", "--trials", "6", "--workers", "1", "--searchers", "random", "TPE"]
    files = ["--json", str(tmp_path / "all.json"), "--docs", str(tmp_path / "page.md")]
    assert main(["run", "--pools", str(tmp_path), *options, *files]) == 0
    assert "Limits" in capsys.readouterr().out
    told = json.loads((tmp_path / "all.json").read_text())
    assert len(told["searches"]) == 2 * 2 * (6 + 1)
    assert {row["rule"] for row in told["figures"]} == {
        "plain", "median", "extrapolation", "bttackler", "bttackler_paper", "tuning"
    }  # fmt: skip
    seeds = {each["seed"] for each in told["searches"]}
    assert seeds == {0, 1, OTHER, OTHER + 1}
    page = (tmp_path / "page.md").read_text()
    assert "| cifar10_lstm | TPE | tuning |" in page
    assert "{" not in page
    assert (tmp_path / "page.png").stat().st_size > 1000


def test_a_pool_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no pool of ex96_trans"):
        main(["run", "--pools", str(tmp_path), "--tasks", "ex96_trans"])
