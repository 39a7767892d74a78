"""The tables of BTTackler beside ours: from made-up pools, and from what `run` and `live` write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tuning import published_numbers as published
from benchmarks.tuning.__main__ import main
from benchmarks.tuning.claims import by_indicator, claims, distribution, of_no_more_gain
from benchmarks.tuning.hit_ratio_causes import Foreknowledge, Hits, Searches, causes
from benchmarks.tuning.pool import save
from benchmarks.tuning.published_tables import Figures, hit_ratios, savings, trials
from benchmarks.tuning.search_spaces import SPACES, OneOf, draw
from benchmarks.tuning.tasks import TASKS
from sickbay.tuning.recorded_search import RecordedSearch
from tests.benchmarks.made_up_pool import part, pool, trial

NOISE = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.101, 0.101, 0.099, 0.101, 0.101]
FLAT = [*NOISE, 0.101, 0.098, 0.1, 0.1, 0.1]  # a new low, so the paper sees a gain
STILL = [2.3] * 20


def figures() -> dict[str, Any]:
    rules = ("plain", "median", "extrapolation", "bttackler", "bttackler_paper", "tuning")
    value = {name: [0.5, 0.4, 0.6] for name in ("top10hr", "top10hr_last", "tsba", "sooner")}
    value |= {name: [0.25, 0.2, 0.3] for name in ("best", "ten", "lost")}
    return {
        "figures": [
            {"task": task, "searcher": searcher, "rule": rule, **value}
            | {"tried": [30.0 + 15 * (rule == "bttackler"), 0, 0]}
            for task in published.TASKS
            for searcher in published.SEARCHERS
            for rule in rules
        ]
    }


def test_the_published_means_are_those_of_the_paper() -> None:
    row = hit_ratios(Figures(figures())).rows[-1]
    assert row == ["mean", "", "72.25 %", "50 %", "50 %", "50 %", "52.08 %", "50 %"]


def test_trials_and_time() -> None:
    first = trials(Figures(figures())).rows[0]
    assert first[:5] == ["Cifar10CNN", "367", "30.0", "72.8 %", "50 %"]
    saved = [row[1] for row in savings(Figures(figures())).rows]
    assert saved == ["16.2 %", "47.6 %", "58.3 %"]


def test_the_published_claims_and_trials() -> None:
    assert sum(published.CLAIMED["cifar10_cnn"].values()) == 496
    assert sum(published.CLAIMED["ex96_trans"].values()) == 59
    assert set(published.INDICATORS.values()) >= set(published.CLAIMED["cifar10_lstm"])


def search_of(*losses: list[float]) -> RecordedSearch:
    made = [trial([0.1] * 20, seed=n, losses=each) for n, each in enumerate(losses)]
    return RecordedSearch("made up", made, "val_accuracy", maximize=True)


def test_what_each_rule_claims_alone_and_first() -> None:
    told = {"cifar10_lstm": claims(search_of(FLAT, STILL, [2.0 / n for n in range(1, 21)]))}
    rows = {row[1]: row[3:] for row in by_indicator(told).rows}
    assert rows["PLC"] == ["1 (33.3 %)"] * 4
    assert rows["NMG"] == ["1 (33.3 %)", "1 (33.3 %)", "0 (0 %)", "0 (0 %)"]
    assert rows["ERG"] == ["0 (0 %)"] * 4
    gain = [row[1] for row in of_no_more_gain(told).rows]
    assert gain == [*["1 (33.3 %)"] * 3, *["0 (0 %)"] * 3, "134 (21.6 %)"]


def test_claimed_trials_by_accuracy() -> None:
    kept, ended = distribution(claims(search_of(STILL, [2.0 / n for n in range(1, 21)]))).rows[:2]
    assert kept[:3] == ["code: not claimed", "1", "100 %"]
    assert ended[:3] == ["code: claimed", "1", "100 %"]


def test_foreknowledge_ends_the_worse_half_only() -> None:
    rule = Foreknowledge(part([0.1, 0.2], [0.3, 0.4], [0.1, 0.3], [0.5, 0.6]))
    assert [rule.ends(n, 1, []) is not None for n in range(4)] == [True, False, True, False]


def test_with_twice_the_trials_two_thirds_are_expected() -> None:
    assert Hits(0.9, 2.0).expected == 2 / 3


def test_two_searches_share_trials_unless_each_has_its_own_half() -> None:
    searches = Searches(part(*([0.1 + 0.01 * n] * 4 for n in range(40))), seeds=3)
    for disjoint in (False, True):
        mine, theirs = searches._choices(0, disjoint)
        assert bool(set(mine.places) & set(theirs.places)) is not disjoint
        assert mine.part.trials[3] is searches._part.trials[mine.places[3]]
    known = searches.hits("foreknowledge", 10, disjoint=True)
    assert known.top10hr > 0.5
    assert known.more > 1.2
    assert searches.hits("bttackler", 10).more == 1  # nothing is wrong with any of them


def test_the_causes_have_the_published_row_first() -> None:
    sheet = causes({"cifar10_lstm": pool(60, first=220)}, seeds=2)
    assert sheet.rows[0] == ["Cifar10LSTM", "published", "1.74", "63.6 %", "35 %"]
    assert len(sheet.rows) == 1 + 3 * 2 + 1


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for task in published.TASKS:
        made = pool(24, epochs=4, task=task, first=240)
        about = {"workers": 2, "device": "GPU", "metric": TASKS[task].metric}
        save(replace(made, about=about), tmp_path / f"{task}.zip")
    (tmp_path / "run.json").write_text(json.dumps(figures()))
    head = ["task", "search", "tried", "finished", "best", "seconds", "cost of watching"]
    why = ["task", "rule", "why", "ended live", "as played"]
    tables = {
        "Live searches": [head, ["cifar10_cnn", "bttackler", "6", "2", "0.3", "60", "2.00%"]],
        "Why trials ended": [why, ["cifar10_cnn", "bttackler", "no_more_gain", "3", "3"],
                             ["cifar10_cnn", "tuning", "never_learnt", "9", "9"]],
    }  # fmt: skip
    about = {"command": "live --quick", "how": "With `--quick`."}
    (tmp_path / "live.json").write_text(json.dumps({"about": about, "tables": tables}))
    return tmp_path


def test_the_command_writes_the_page(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = ["--run", str(files / "run.json"), "--live", str(files / "live.json")]
    made = ["--docs", str(files / "docs" / "page.md"), "--json", str(files / "all.json")]
    assert main(["published", "--pools", str(files), "--seeds", "1", *sources, *made]) == 0
    assert "Table 5: claims" in capsys.readouterr().out
    page = (files / "docs" / "page.md").read_text()
    assert page.startswith("# BTTackler, published and here\n\nGenerated by `python -m benchmarks")
    assert "| cifar10_cnn | bttackler | 6 | 2 | 60 | 2.00% |" in page
    assert "never_learnt" not in page
    assert "{" not in page
    told = json.loads((files / "all.json").read_text())
    assert len(told) == 10


def test_the_papers_forecasting_space() -> None:
    space = SPACES["ex96_paper"]
    choices = [name for name, each in space.items() if isinstance(each, OneOf)]
    assert choices == ["model_width", "batch_size", "dropout"]
    whole = [name for name, each in space.items() if getattr(each, "whole", False)]
    assert whole == ["encoder_layers", "decoder_layers", "heads", "inner_width"]
    heads = {draw(space, seed)["heads"] for seed in range(200)}
    assert heads == set(range(5, 16))


@pytest.mark.parametrize("heads", [5, 8, 15])
def test_its_models_take_any_number_of_heads(heads: int) -> None:
    torch = pytest.importorskip("torch")
    config = {**draw(SPACES["ex96_paper"], 1), "heads": heads, "model_width": 32, "inner_width": 16}
    model = TASKS["ex96_paper"].build(config)
    past = torch.randn(2, 96, 8, generator=torch.Generator().manual_seed(0))
    ahead = model(past)
    assert ahead.shape == (2, 96, 8)
    ahead.square().mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
