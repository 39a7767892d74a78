import pytest

from sickbay.history import History
from sickbay.problems import DoubleActivation
from sickbay.vitals import Setup, Vitals

problem = DoubleActivation()


@pytest.mark.parametrize(
    ("loss", "output", "expected"),
    [
        pytest.param("cross_entropy", "softmax", True, id="softmax-twice"),
        pytest.param("bce_logits", "sigmoid", True, id="sigmoid-twice"),
        pytest.param("cross_entropy", "sigmoid", True, id="sigmoid-before-softmax"),
        pytest.param("bce_logits", "softmax", True, id="softmax-before-sigmoid"),
        pytest.param("cross_entropy", "linear", False, id="logits"),
        pytest.param("bce_logits", "linear", False, id="logit"),
        pytest.param("cross_entropy", "log_softmax", False, id="log-softmax-changes-nothing"),
        pytest.param("bce", "sigmoid", False, id="the-loss-applies-none"),
        pytest.param("mse", "sigmoid", False, id="a-distance"),
        pytest.param("nll", "softmax", False, id="nll-applies-none"),
        pytest.param("cross_entropy", "relu", False, id="another-activation"),
        pytest.param("", "softmax", False, id="loss-not-known"),
        pytest.param("cross_entropy", "", False, id="output-not-known"),
        pytest.param("", "", False, id="nothing-known"),
    ],
)
def test_check(loss: str, output: str, expected: bool) -> None:
    assert bool(problem.check(History(Setup(loss=loss, output=output)))) is expected


@pytest.mark.parametrize(
    ("output", "reach", "expected"),
    [
        pytest.param("softmax", 0.74, True, id="softmax"),
        pytest.param("sigmoid", 0.0, True, id="sigmoid"),
        pytest.param("softmax", 0.75, False, id="at-the-limit"),
        pytest.param("softmax", 1.0, False, id="reaches-all"),
        pytest.param("tanh", 0.3, False, id="tanh-is-an-improper-output"),
        pytest.param("linear", 0.3, False, id="linear"),
    ],
)
def test_a_loss_of_the_users_own(output: str, reach: float, expected: bool) -> None:
    finding = problem.check(History(Setup(output=output, reach=reach)))
    assert bool(finding) is expected
    if finding is not None:
        assert finding.evidence == {"reach": reach}


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        pytest.param(Setup(squeezed="softmax"), True, id="of-a-policy"),
        pytest.param(Setup(squeezed="sigmoid", loss="mse"), True, id="beside-another-loss"),
        pytest.param(Setup(squeezed="softmax", mixes_samples=True), False, id="over-the-samples"),
        pytest.param(Setup(loss="mse", output="softmax"), False, id="no-log-softmax"),
    ],
)
def test_a_softmax_before_a_term_of_the_loss(setup: Setup, expected: bool) -> None:
    assert bool(problem.check(History(setup))) is expected


def test_a_softmax_over_the_samples_is_an_improper_output() -> None:
    setup = Setup(loss="cross_entropy", output="softmax", mixes_samples=True)
    assert problem.check(History(setup)) is None


def test_neither_the_loss_nor_its_fall_matters() -> None:
    setup = Setup(loss="cross_entropy", output="softmax")
    for losses in ([], [2.3], [2.3, 0.1], [float("nan")]):
        assert problem.check(History(setup, loss=losses)) is not None


def test_the_finding_names_the_step_and_both_activations() -> None:
    made = History(Setup(loss="bce_logits", output="softmax"), loss=[1.0, 1.0])
    made.append(Vitals(step=7, epoch=2))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("double_activation", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (7, 2, ())
    assert finding.message == "softmax before bce_logits, which applies sigmoid itself"


def test_it_weakens_gradients_so_it_explains_no_rate_that_is_too_high() -> None:
    assert "learning_rate_too_low" in DoubleActivation.explains
    assert "learning_rate_too_high" not in DoubleActivation.explains
