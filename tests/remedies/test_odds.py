import json
from pathlib import Path

import pytest

from sickbay.remedies import ClipNorm, HalveLearningRate, InsertNormalisation, ReplaceActivation
from sickbay.remedies import odds as table
from sickbay.remedies.by_problem import CHOICES
from sickbay.remedies.odds import Odds, note, odds, ranked
from sickbay.remedies.suggest import suggested


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path / "home"))
    counts = {"sick": {"clip_norm limit=1.0": [3, 4]}}
    monkeypatch.setattr(table, "shipped", lambda: {"counts": counts})
    return tmp_path / "home"


def test_own_repairs_add_to_what_is_shipped(home: Path) -> None:
    assert odds("sick", ClipNorm()) == Odds(3, 4)
    note("sick", ClipNorm(), worked=True)
    note("sick", ClipNorm(), worked=False)
    assert odds("sick", ClipNorm()) == Odds(4, 6)
    assert odds("sick", ClipNorm(limit=2.0)) == Odds(0, 0)
    assert json.loads((home / "odds.json").read_text()) == {"sick": {"clip_norm limit=1.0": [1, 2]}}


def test_counts_under_an_old_name_are_kept(home: Path) -> None:
    home.mkdir()
    (home / "odds.json").write_text('{"oscillating_loss": {"clip_norm limit=1.0": [1, 2]}}')
    assert odds("oscillating_accuracy", ClipNorm()) == Odds(1, 2)


def test_a_broken_table_counts_for_nothing(home: Path) -> None:
    home.mkdir()
    (home / "odds.json").write_text("{")
    assert odds("sick", ClipNorm()) == Odds(3, 4)


def test_a_home_that_cannot_be_written_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path / "file" / "below"))
    note("sick", ClipNorm(), worked=True)
    assert odds("sick", ClipNorm()) == Odds(3, 4)


def test_a_single_own_success_is_not_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    selu, norm = ReplaceActivation(to="selu"), InsertNormalisation()
    monkeypatch.setitem(CHOICES, "sick", [ClipNorm(), selu, norm])
    note("sick", selu, worked=True)
    assert [each.remedy for each in suggested("sick")] == [ClipNorm().key]
    note("sick", selu, worked=True)
    assert [each.remedy for each in suggested("sick")] == [selu.key, ClipNorm().key]
    assert [each.remedy for each in suggested("sick", {"sick": [norm]})] == [norm.key]


def test_the_better_odds_come_first_and_what_keeps_weights_before_equals() -> None:
    selu, norm, half = ReplaceActivation(to="selu"), InsertNormalisation(), HalveLearningRate()
    assert ranked("sick", [selu, norm, half, ClipNorm()]) == [ClipNorm(), half, selu, norm]
