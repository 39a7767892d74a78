import pytest

from sickbay.history import History
from sickbay.problems.shared.planned_epochs import adaptive_window, is_over, stage
from sickbay.vitals import Setup, Vitals


def history(planned: int | None, finished: int) -> History:
    made = History(Setup(epochs=planned))
    for _ in range(finished):
        made.end_epoch(loss=1.0)
    return made


@pytest.mark.parametrize(
    ("planned", "finished", "expected"),
    [
        pytest.param(20, 0, None, id="before-the-first"),
        pytest.param(20, 1, "early", id="first"),
        pytest.param(20, 10, "early", id="last-of-the-first-half"),
        pytest.param(20, 11, "late", id="first-of-the-second-half"),
        pytest.param(20, 20, "late", id="last"),
        pytest.param(20, 25, "late", id="longer-than-planned"),
        pytest.param(5, 2, "early", id="odd-before-the-middle"),
        pytest.param(5, 3, "late", id="odd-in-the-middle"),
        pytest.param(1, 1, "late", id="one-epoch"),
        pytest.param(None, 7, None, id="no-plan"),
    ],
)
def test_stage(planned: int | None, finished: int, expected: str | None) -> None:
    assert stage(history(planned, finished)) == expected


def test_the_stage_stays_while_the_next_epoch_runs() -> None:
    made = history(20, 10)
    made.append(Vitals(step=0, epoch=10, scalars={"loss": 1.0}))
    assert stage(made) == "early"


@pytest.mark.parametrize(
    ("planned", "finished", "expected"),
    [
        pytest.param(10, 2, False, id="too-early"),
        pytest.param(10, 3, True, id="at-the-limit"),
        pytest.param(11, 3, False, id="below-the-limit"),
        pytest.param(11, 4, True, id="above-the-limit"),
        pytest.param(None, 0, True, id="no-plan"),
    ],
)
def test_is_over(planned: int | None, finished: int, expected: bool) -> None:
    assert is_over(history(planned, finished), 0.3) is expected


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        pytest.param(20, 6, id="as-published"),
        pytest.param(8, 2, id="rounded-down"),
        pytest.param(9, 3, id="rounded-up"),
        pytest.param(15, 4, id="halfway-to-the-even-one"),
        pytest.param(25, 8, id="halfway-to-the-even-one-above"),
        pytest.param(3, 2, id="two-at-least"),
        pytest.param(None, 2, id="no-plan"),
    ],
)
def test_adaptive_window(planned: int | None, expected: int) -> None:
    assert adaptive_window(history(planned, 0), 0.3) == expected
