"""Modules that were renamed can still be reached by their old names, with a warning."""

import pytest

from sickbay import tuning
from sickbay.tuning import charted_trials, load_search


def test_old_names_warn_and_work() -> None:
    with pytest.warns(DeprecationWarning, match="now called sickbay.tuning.charted_trials"):
        assert tuning.charted.note is charted_trials.note
    with pytest.warns(DeprecationWarning, match="now called sickbay.tuning.load_search"):
        assert tuning.reading.read is load_search.read


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tuning.nothing
