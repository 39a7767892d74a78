"""Modules that were renamed can still be imported by their old names, with a warning."""

import pytest

from sickbay import tuning
from sickbay.tuning import charted_trials, load_search

CHARTED = "sickbay.tuning.charted is now called sickbay.tuning.charted_trials"
READING = "sickbay.tuning.reading is now called sickbay.tuning.load_search"


def test_old_names_work_as_attributes() -> None:
    with pytest.warns(DeprecationWarning, match=CHARTED):
        assert tuning.charted.note is charted_trials.note
    with pytest.warns(DeprecationWarning, match=READING):
        assert tuning.reading.read is load_search.read


def test_functions_can_be_imported_from_the_old_names() -> None:
    with pytest.warns(DeprecationWarning, match=CHARTED) as warned:
        from sickbay.tuning.charted import note  # type: ignore[import-not-found]
    assert note is charted_trials.note
    assert [each.filename for each in warned] == [__file__]
    with pytest.warns(DeprecationWarning, match=READING):
        from sickbay.tuning.reading import read  # type: ignore[import-not-found]
    assert read is load_search.read


def test_the_old_names_can_be_imported() -> None:
    import sickbay.tuning.charted
    import sickbay.tuning.reading as old_reading

    from sickbay.tuning import charted as old_charted

    with pytest.warns(DeprecationWarning, match=CHARTED):
        assert sickbay.tuning.charted.note is old_charted.note is charted_trials.note
    with pytest.warns(DeprecationWarning, match=READING):
        assert old_reading.read is load_search.read


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tuning.nothing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tuning.charted.nothing
