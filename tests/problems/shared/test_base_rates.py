import pytest

from sickbay.history import History
from sickbay.problems.shared.base_rates import beats_base_rate
from sickbay.vitals import Setup


@pytest.mark.parametrize(
    ("loss", "given", "expected"),
    [
        pytest.param(1.8, {}, True, id="at-the-limit"),
        pytest.param(1.9, {}, False, id="above-the-limit"),
        pytest.param(1.5, {"task": "next_token"}, True, id="tokens"),
        pytest.param(1.5, {"loss": "mse"}, False, id="another-loss"),
        pytest.param(1.5, {"bare": False}, False, id="other-terms"),
        pytest.param(1.5, {"summed": True}, False, id="a-sum"),
        pytest.param(1.5, {"task": "regression"}, False, id="numbers"),
    ],
)
def test_many_classes(loss: float, given: dict[str, object], expected: bool) -> None:
    setup = Setup(**{"task": "multiclass", "loss": "cross_entropy", "bare": True, **given})  # type: ignore[arg-type]
    history = History(setup, loss=[loss - 1e-9], constant_entropy=[2.0])
    assert beats_base_rate(history) is expected


def test_unknown_frequencies_are_not_beaten() -> None:
    setup = Setup(task="multiclass", loss="cross_entropy", bare=True)
    assert not beats_base_rate(History(setup, loss=[0.1]))
