from math import nan

import pytest

from sickbay import problems
from sickbay.history import History
from sickbay.problems.profiles import choose
from sickbay.problems.published.autotrainer import ImproperOutput
from sickbay.vitals import Setup, Vitals

problem = ImproperOutput(accuracy=0.7)


@pytest.mark.parametrize(
    ("task", "loss", "output", "expected"),
    [
        pytest.param("binary", "bce", "sigmoid", False, id="binary"),
        pytest.param("binary", "bce", "linear", True, id="binary-without-sigmoid"),
        pytest.param("binary", "mse", "relu", True, id="binary-with-relu"),
        pytest.param("binary", "bce_logits", "linear", False, id="binary-logits"),
        pytest.param("binary", "bce_logits", "sigmoid", True, id="binary-sigmoid-twice"),
        pytest.param("multiclass", "", "softmax", False, id="multiclass"),
        pytest.param("multiclass", "nll", "softmax", True, id="softmax-without-logarithm"),
        pytest.param("multiclass", "nll", "log_softmax", False, id="multiclass-log-softmax"),
        pytest.param("multiclass", "mse", "sigmoid", True, id="multiclass-with-sigmoid"),
        pytest.param("multiclass", "cross_entropy", "linear", False, id="multiclass-logits"),
        pytest.param("multiclass", "cross_entropy", "softmax", True, id="softmax-twice"),
        pytest.param("next_token", "cross_entropy", "linear", False, id="next-token"),
        pytest.param("next_token", "nll", "sigmoid", True, id="next-token-with-sigmoid"),
        pytest.param("multilabel", "bce", "sigmoid", False, id="multilabel"),
        pytest.param("multilabel", "bce", "softmax", True, id="multilabel-with-softmax"),
        pytest.param("regression", "mse", "linear", False, id="regression"),
        pytest.param("regression", "mse", "tanh", True, id="regression-with-tanh"),
        pytest.param("", "mse", "tanh", False, id="task-not-known"),
        pytest.param("regression", "mse", "", False, id="output-not-known"),
    ],
)
def test_the_recommended_activations(task: str, loss: str, output: str, expected: bool) -> None:
    made = History(Setup(task=task, loss=loss, output=output), accuracy=[0.5])
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("accuracy", "val_accuracy", "expected"),
    [
        pytest.param([0.7], [], True, id="at-the-limit"),
        pytest.param([0.7 + 1e-6], [], False, id="above-the-limit"),
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
    setup = Setup(task="regression", loss="mse", output="tanh")
    made = History(setup, accuracy=accuracy, val_accuracy=val_accuracy)
    assert bool(problem.check(made)) is expected


def test_the_profile_of_the_paper_uses_its_rule() -> None:
    made = History(Setup(task="regression", loss="mse", output="tanh"), accuracy=[0.5])
    (paper,) = choose("autotrainer", ["improper_output"])
    assert paper.check(made) is not None
    assert problems.ImproperOutput().check(made) is None


def test_the_finding_names_the_step_and_what_is_recommended() -> None:
    made = History(Setup(task="multiclass", output="sigmoid", loss="mse"))
    made.append(Vitals(step=7, epoch=3, scalars={"accuracy": 0.1}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("improper_output", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (7, 3, ())
    assert finding.message == "sigmoid for multiclass, where softmax or log_softmax is right"
