from math import nan

import pytest

from sickbay import problems
from sickbay.history import History
from sickbay.problems.profiles import choose
from sickbay.problems.published.autotrainer import ImproperLoss
from sickbay.vitals import Setup, Vitals

problem = ImproperLoss(accuracy=0.7)


@pytest.mark.parametrize(
    ("task", "loss", "expected"),
    [
        pytest.param("binary", "bce", False, id="binary"),
        pytest.param("binary", "bce_logits", False, id="binary-logits"),
        pytest.param("binary", "mse", True, id="binary-by-distance"),
        pytest.param("binary", "cross_entropy", True, id="binary-by-classes"),
        pytest.param("multiclass", "cross_entropy", False, id="multiclass"),
        pytest.param("multiclass", "bce", True, id="multiclass-by-answers"),
        pytest.param("multiclass", "mse", True, id="multiclass-by-distance"),
        pytest.param("next_token", "cross_entropy", False, id="next-token"),
        pytest.param("next_token", "mse", True, id="next-token-by-distance"),
        pytest.param("multilabel", "bce", False, id="multilabel"),
        pytest.param("multilabel", "bce_logits", False, id="multilabel-logits"),
        pytest.param("multilabel", "cross_entropy", True, id="multilabel-by-classes"),
        pytest.param("regression", "mse", False, id="regression"),
        pytest.param("regression", "l1", False, id="regression-l1"),
        pytest.param("regression", "smooth_l1", False, id="regression-smooth-l1"),
        pytest.param("regression", "huber", False, id="regression-huber"),
        pytest.param("regression", "bce", True, id="regression-by-answers"),
        pytest.param("", "mse", False, id="task-not-known"),
        pytest.param("regression", "", False, id="loss-not-known"),
    ],
)
def test_the_recommended_losses(task: str, loss: str, expected: bool) -> None:
    made = History(Setup(task=task, loss=loss), accuracy=[0.5])
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("accuracy", "val_accuracy", "expected"),
    [
        pytest.param([0.7], [], True, id="at-the-limit"),
        pytest.param([0.71], [], False, id="above-the-limit"),
        pytest.param([0.9, 0.2], [], True, id="a-lucky-batch"),
        pytest.param([0.2], [0.9], True, id="validation-above-the-limit"),
        pytest.param([], [0.2], True, id="validation-is-enough"),
        pytest.param([nan], [], False, id="nan"),
        pytest.param([], [], False, id="without-an-accuracy"),
    ],
)
def test_only_while_the_accuracy_is_low(
    accuracy: list[float], val_accuracy: list[float], expected: bool
) -> None:
    made = History(Setup(task="binary", loss="mse"), accuracy=accuracy, val_accuracy=val_accuracy)
    assert bool(problem.check(made)) is expected


def test_it_proves_nothing() -> None:
    setup = Setup(task="regression", loss="mse", bare=True)
    made = History(setup, loss=[-1.0], accuracy=[0.5])
    (paper,) = choose("autotrainer", ["improper_loss"])
    assert paper.check(made) is None
    assert problems.ImproperLoss().check(made) is not None


def test_the_finding_names_the_step_and_what_is_recommended() -> None:
    made = History(Setup(loss="mse", task="binary"))
    made.append(Vitals(step=7, epoch=3, scalars={"accuracy": 0.1}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("improper_loss", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (7, 3, ())
    assert finding.message == "mse for binary, where bce or bce_logits is right"
