"""What every test of the doctor gets: remedies ranked without what this user has counted."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_odds_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SICKBAY_HOME", str(tmp_path))
