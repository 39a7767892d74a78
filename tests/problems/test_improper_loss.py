from math import inf, nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.vitals import Setup, Vitals

problem = ImproperLoss()


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        pytest.param({"loss": "cross_entropy", "output_shape": (8, 1)}, True, id="one-unit"),
        pytest.param({"loss": "cross_entropy", "output_shape": (8, 4, 1)}, True, id="three-axes"),
        pytest.param({"loss": "cross_entropy", "output_shape": (8, 2)}, False, id="two-units"),
        pytest.param({"loss": "cross_entropy", "output_shape": (1,)}, False, id="one-axis"),
        pytest.param({"loss": "cross_entropy"}, False, id="shape-not-known"),
        pytest.param({"loss": "bce_logits", "output_shape": (8, 1)}, False, id="bce-one-unit"),
        pytest.param({"loss": "cross_entropy", "task": "regression"}, True, id="ce-on-numbers"),
        pytest.param({"loss": "cross_entropy", "task": "multiclass"}, False, id="ce-on-classes"),
        pytest.param({"loss": "cross_entropy", "task": "next_token"}, False, id="ce-on-tokens"),
        pytest.param({"loss": "mse", "task": "regression"}, False, id="mse-on-numbers"),
        pytest.param({"loss": "nll", "output": "linear"}, True, id="nll-of-logits"),
        pytest.param({"loss": "nll", "output": "softmax"}, True, id="nll-of-probabilities"),
        pytest.param({"loss": "nll", "output": "log_softmax"}, False, id="nll-of-log-softmax"),
        pytest.param({"loss": "nll", "output": "log_sigmoid"}, False, id="nll-of-log-sigmoid"),
        pytest.param({"loss": "nll"}, False, id="nll-of-something"),
        pytest.param({"loss": "mse", "output": "linear"}, False, id="mse-of-logits"),
        pytest.param({"loss": "l1", "task": "multiclass"}, True, id="l1-on-one-hot"),
        pytest.param({"loss": "mse", "task": "multiclass"}, False, id="mse-on-one-hot"),
        pytest.param({"loss": "l1", "task": "regression"}, False, id="l1-on-numbers"),
        pytest.param({}, False, id="nothing-known"),
        pytest.param({"task": "regression", "output": "linear"}, False, id="loss-not-known"),
    ],
)
def test_what_cannot_be_right(setup: dict[str, Any], expected: bool) -> None:
    assert bool(problem.check(History(Setup(**setup), loss=[1.0]))) is expected


@pytest.mark.parametrize(
    ("loss", "values", "expected"),
    [
        pytest.param("mse", [0.0], False, id="at-the-limit"),
        pytest.param("mse", [-1e-7], False, id="rounded"),
        pytest.param("mse", [-1e-5], True, id="below-the-limit"),
        pytest.param("bce", [0.5, 0.1, -40.0], True, id="bce-on-wrong-targets"),
        pytest.param("cross_entropy", [-1e9], True, id="any-scale"),
        pytest.param("mse", [-1.0, 1.0, 1.0], True, id="lately"),
        pytest.param("mse", [-1.0, 1.0, 1.0, 1.0], False, id="forgets-what-was-long-ago"),
        pytest.param("mse", [nan], False, id="nan"),
        pytest.param("mse", [-inf], False, id="inf-is-for-non-finite"),
        pytest.param("mse", [], False, id="too-early"),
        pytest.param("poisson_nll", [-1.0], False, id="a-loss-without-a-bound"),
        pytest.param("", [-1.0], False, id="loss-not-known"),
    ],
)
def test_below_its_bound(loss: str, values: list[float], expected: bool) -> None:
    assert bool(problem.check(History(Setup(loss=loss, bare=True), loss=values))) is expected


def test_a_loss_with_other_terms_may_be_negative() -> None:
    assert problem.check(History(Setup(loss="mse", bare=False), loss=[-1.0])) is None


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        pytest.param(
            {"loss": "cross_entropy", "output_shape": (8, 1)},
            "cross_entropy over a single unit is always 0",
            id="single",
        ),
        pytest.param(
            {"loss": "cross_entropy", "task": "regression"},
            "cross_entropy needs classes or probabilities, but the targets are neither",
            id="classes",
        ),
        pytest.param(
            {"loss": "nll", "output": "softmax"},
            "nll expects log-probabilities, but gets softmax outputs",
            id="logarithms",
        ),
        pytest.param(
            {"loss": "l1", "task": "multiclass"},
            "l1 on one-hot classes is lowest if every output is 0",
            id="zero",
        ),
        pytest.param(
            {"loss": "mse", "bare": True},
            "the loss is -0.125, but mse cannot be negative if its inputs are right",
            id="bound",
        ),
    ],
)
def test_the_finding_names_the_step_and_what_does_not_fit(
    setup: dict[str, Any], message: str
) -> None:
    made = History(Setup(**setup), loss=[-0.125])
    made.append(Vitals(step=7, epoch=3, scalars={"accuracy": 0.1}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("improper_loss", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (7, 3, ())
    assert finding.message == message


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        pytest.param("ignores_outputs", "no gradient", id="argmax"),
        pytest.param("wrong_sign", "lower for wrong answers", id="sign"),
        pytest.param("ignores_pairs", "averages over the batch", id="averages"),
        pytest.param("mixes_classes", "runs over the samples", id="dimension"),
        pytest.param("unbounded", "no lower bound", id="unbounded"),
    ],
)
def test_what_calling_the_loss_has_shown(fact: str, words: str) -> None:
    setup: dict[str, Any] = {fact: True}
    finding = problem.check(History(Setup(**setup), loss=[1.0]))
    assert finding is not None
    assert words in finding.message


@pytest.mark.parametrize(
    ("losses", "gradients", "output", "expected"),
    [
        pytest.param([0.1, nan], [1.0, nan], {"nonfinite": 0.0}, True, id="finite-outputs"),
        pytest.param([0.1, inf], [1.0, nan], {"nonfinite": 0.0}, True, id="infinite"),
        pytest.param([nan], [nan], {"nonfinite": 0.0}, True, id="first-step"),
        pytest.param([0.1, nan], [1.0, nan], {"nonfinite": 1.0}, False, id="outputs-were-nan"),
        pytest.param([0.1, nan], [1.0, nan], {}, True, id="outputs-not-read"),
        pytest.param([0.1, nan], [nan, nan], {}, False, id="gradient-was-nan-before"),
        pytest.param([nan, nan], [1.0, nan], {}, False, id="loss-was-nan-before"),
        pytest.param([0.1, nan], [], {}, False, id="gradient-not-known"),
        pytest.param([nan], [nan], {}, False, id="nothing-before"),
        pytest.param([0.1, 0.2], [1.0, 1.0], {"nonfinite": 0.0}, False, id="finite"),
        pytest.param([], [], {}, False, id="too-early"),
    ],
)
def test_logarithm_of_zero(
    losses: list[float], gradients: list[float], output: dict[str, float], expected: bool
) -> None:
    made = History(Setup(takes_log=True), loss=losses, grad_norm=gradients)
    if output:
        made.add_table("batch", {"output": output})
    assert bool(problem.check(made)) is expected
    made.setup = Setup()
    assert problem.check(made) is None


@pytest.mark.parametrize(
    ("accuracies", "changed", "expected"),
    [
        pytest.param([0.1, 0.18], {}, True, id="guesses"),
        pytest.param([0.1, 0.2], {}, False, id="learns"),
        pytest.param([0.5, 0.1], {}, False, id="has-learnt"),
        pytest.param([0.1], {}, False, id="too-early"),
        pytest.param([], {}, False, id="no-accuracy"),
        pytest.param([0.1, 0.1], {"output": "sigmoid"}, True, id="sigmoid"),
        pytest.param([0.1, 0.1], {"output": "linear"}, False, id="linear"),
        pytest.param([0.1, 0.1], {"loss": "huber"}, False, id="another-loss"),
        pytest.param([0.1, 0.1], {"task": "multilabel"}, False, id="tags"),
        pytest.param([0.1, 0.1], {"output_shape": ()}, False, id="shape-not-known"),
        pytest.param([0.54, 0.5], {"output_shape": (8, 2)}, True, id="two-classes"),
        pytest.param([0.56, 0.5], {"output_shape": (8, 2)}, False, id="two-classes-learn"),
    ],
)
def test_squared_error_of_probabilities(
    accuracies: list[float], changed: dict[str, Any], expected: bool
) -> None:
    setup: dict[str, Any] = {"loss": "mse", "output": "softmax", "task": "multiclass"}
    made = History(Setup(**{**setup, "output_shape": (8, 10), **changed}), loss=[1.0])
    for accuracy in accuracies:
        made.end_epoch(val_accuracy=accuracy)
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("found", "alone"),
    [
        pytest.param({"weight_slope": 3 * [1.0]}, True, id="weights-of-classes"),
        pytest.param({"pull": 3 * [-1.0]}, False, id="wrong-sign"),
    ],
)
def test_weights_of_classes_are_told_beside_another_fault(
    found: dict[str, Any], alone: bool
) -> None:
    finding = ImproperLoss().check(History(Setup(loss="mse"), **found))
    assert finding is not None
    assert ImproperLoss().stands_alone(finding) is alone
