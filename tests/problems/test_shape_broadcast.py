import pytest

from sickbay.history import History
from sickbay.problems import ShapeBroadcast
from sickbay.vitals import Setup, Vitals

problem = ShapeBroadcast()
FITTING = "mse compares outputs (32, 1)"
UNKNOWN = "compares outputs with targets of another shape"


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        pytest.param(Setup(stretched=True), True, id="stretched"),
        pytest.param(Setup(stretched=True, loss="mse"), True, id="shapes-not-known"),
        pytest.param(Setup(), False, id="nothing-known"),
        pytest.param(
            Setup(loss="mse", output_shape=(8, 1), target_shape=(8, 1)), False, id="same-shape"
        ),
        pytest.param(
            Setup(loss="cross_entropy", output_shape=(8, 3), target_shape=(8,)),
            False,
            id="indices-have-fewer-dimensions",
        ),
    ],
)
def test_check(setup: Setup, expected: bool) -> None:
    assert bool(problem.check(History(setup, loss=[1.0]))) is expected


@pytest.mark.parametrize(
    ("loss", "target_shape", "message"),
    [
        pytest.param("mse", (32,), f"{FITTING} with targets (32,)", id="all-known"),
        pytest.param("mse", (), f"mse {UNKNOWN}", id="targets-not-known"),
        pytest.param("", (32,), f"the loss{FITTING[3:]} with targets (32,)", id="loss-not-known"),
    ],
)
def test_the_finding_names_the_step_and_the_shapes(
    loss: str, target_shape: tuple[int, ...], message: str
) -> None:
    setup = Setup(loss=loss, output_shape=(32, 1), target_shape=target_shape, stretched=True)
    made = History(setup, loss=[1.0])
    made.append(Vitals(step=5, epoch=1))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("shape_broadcast", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (5, 1, ())
    assert finding.message == f"{message}, broadcast to fit each other"


@pytest.mark.parametrize(
    ("twins", "expected"),
    [
        ([1.0] * 3, True),
        ([1.0] * 2, False),
        ([1.0, 0.99, 1.0], False),
        ([0.0, 1.0, 1.0, 1.0], True),
    ],
)
def test_two_outputs_and_one_target(twins: list[float], expected: bool) -> None:
    assert bool(problem.check(History(twins=twins))) is expected


def test_shapes_that_do_not_differ_are_not_named() -> None:
    setup = Setup(loss="mse", output_shape=(32, 1), target_shape=(32, 1), stretched=True)
    finding = problem.check(History(setup, loss=[1.0]))
    assert finding is not None
    assert finding.message.startswith(f"mse {UNKNOWN}")
