import pytest

from sickbay.history import History
from sickbay.problems.unshuffled_data import UnshuffledData
from sickbay.vitals import Setup


@pytest.mark.parametrize(
    ("purities", "share", "size", "expected"),
    [
        pytest.param(10 * [1.0], 0.3, 32, True, id="one-class-each"),
        pytest.param([*6 * [1.0], *4 * [0.6]], 0.3, 32, True, id="most-of-them"),
        pytest.param([*5 * [1.0], *5 * [0.6]], 0.3, 32, False, id="half-of-them"),
        pytest.param(9 * [1.0], 0.3, 32, False, id="too-early"),
        pytest.param(10 * [1.0], 0.95, 32, False, id="hardly-any-other-class"),
        pytest.param(10 * [1.0], 0.3, 4, False, id="small-batches"),
        pytest.param(10 * [0.9], 0.3, 32, False, id="mixed"),
    ],
)
def test_check(purities: list[float], share: float, size: int, expected: bool) -> None:
    setup = Setup(task="multiclass", output_shape=(size, 3))
    history = History(setup, purity=purities, constant_score=len(purities) * [share])
    assert bool(UnshuffledData().check(history)) is expected
