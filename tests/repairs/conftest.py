"""What all tests of repairs need."""

import os

import pytest


@pytest.fixture(autouse=True)
def no_odds_of_earlier_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what earlier repairs have learnt, which would change what comes next."""
    monkeypatch.setenv("SICKBAY_HOME", os.devnull)
