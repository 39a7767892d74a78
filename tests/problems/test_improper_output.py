from collections.abc import Mapping
from math import inf, nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperOutput
from sickbay.vitals import Setup, Table, Vitals

problem = ImproperOutput(margin=0.5)
MORE = 1e-6


def history(batch: Mapping[str, Mapping[str, float]] | None = None, **setup: Any) -> History:
    made = History(Setup(**setup), loss=[1.0])
    if batch is not None:
        made.append(Vitals(step=0, tables=[Table.of("batch", 0, batch)]))
    return made


def targets(low: float, high: float, variance: float = 1.0) -> dict[str, dict[str, float]]:
    return {"target": {"minimum": low, "maximum": high, "variance": variance}}


@pytest.mark.parametrize("loss", ["cross_entropy", "bce_logits"])
@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("sigmoid", True), ("softmax", True), ("tanh", True), ("relu", True), ("softplus", True),
        ("clamp", True), ("linear", False), ("log_softmax", False), ("leaky_relu", False),
        ("gelu", False), ("", False),
    ],
)  # fmt: skip
def test_a_loss_that_takes_logits(loss: str, output: str, expected: bool) -> None:
    assert bool(problem.check(history(loss=loss, output=output, output_shape=(8, 3)))) is expected


@pytest.mark.parametrize(
    ("output", "shape", "expected"),
    [
        pytest.param("softmax", (32, 1), True, id="one-unit"),
        pytest.param("softmax", (32, 2), False, id="two-units"),
        pytest.param("softmax", (1, 3), False, id="one-sample"),
        pytest.param("sigmoid", (32, 1), False, id="sigmoid"),
        pytest.param("softmax", (), False, id="shape-not-known"),
    ],
)
def test_softmax_over_a_single_unit(output: str, shape: tuple[int, ...], expected: bool) -> None:
    assert bool(problem.check(history(output=output, loss="bce", output_shape=shape))) is expected


@pytest.mark.parametrize(
    ("output", "batch", "expected"),
    [
        pytest.param("sigmoid", targets(-0.5, 1.5), False, id="at-the-limit"),
        pytest.param("sigmoid", targets(-0.5 - MORE, 1.0), True, id="below-the-limit"),
        pytest.param("sigmoid", targets(0.0, 1.5 + MORE), True, id="above-the-limit"),
        pytest.param("softmax", targets(-0.5, 1.5), False, id="softmax-at-the-limit"),
        pytest.param("softmax", targets(-0.5 - MORE, 1.0), True, id="softmax-below"),
        pytest.param("softmax", targets(0.0, 1.5 + MORE), True, id="softmax-above"),
        pytest.param("tanh", targets(-1.5, 1.5), False, id="tanh-at-the-limit"),
        pytest.param("tanh", targets(-1.5 - MORE, 0.0), True, id="tanh-below"),
        pytest.param("tanh", targets(0.0, 1.5 + MORE), True, id="tanh-above"),
        pytest.param("relu", targets(-0.5, 1e9), False, id="relu-has-no-top"),
        pytest.param("relu", targets(-0.5 - MORE, 1.0), True, id="relu-below"),
        pytest.param("softplus", targets(-0.5, 1e9), False, id="softplus-at-the-limit"),
        pytest.param("softplus", targets(-0.5 - MORE, 1.0), True, id="softplus-below"),
        pytest.param("linear", targets(-1e9, 1e9), False, id="linear-reaches-all"),
        pytest.param("leaky_relu", targets(-1e9, 1e9), False, id="leaky-relu-reaches-all"),
        pytest.param("", targets(-1e9, 1e9), False, id="output-not-known"),
        pytest.param("sigmoid", targets(0, 255, 255.0**2), True, id="any-scale-large"),
        pytest.param("sigmoid", targets(1e-9, 2e-9, 1e-20), False, id="any-scale-small"),
        pytest.param("sigmoid", targets(-1.0, 1.0, 0.81), True, id="labels-minus-one-and-one"),
        pytest.param("sigmoid", targets(2.0, 2.0, 0.0), True, id="no-variance"),
        pytest.param("sigmoid", targets(2.0, 2.0, -1e-9), True, id="variance-below-zero"),
        pytest.param("sigmoid", targets(-0.4, 1.0, 0.25), True, id="small-variance"),
        pytest.param("sigmoid", targets(nan, nan), False, id="nan"),
        pytest.param("sigmoid", targets(2.0, 2.0, nan), False, id="nan-variance"),
        pytest.param("sigmoid", targets(-inf, 1.0), True, id="inf"),
        pytest.param("sigmoid", {"output": {"minimum": -9}}, False, id="no-targets"),
        pytest.param("sigmoid", {}, False, id="empty-batch"),
        pytest.param("sigmoid", None, False, id="too-early"),
    ],
)
def test_targets_out_of_reach(
    output: str, batch: dict[str, dict[str, float]] | None, expected: bool
) -> None:
    made = history(batch, loss="mse", output=output, output_shape=(8, 2))
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize("output", ["sigmoid", "linear"])
def test_what_was_put_out_so_far_is_not_all_that_can_be(output: str) -> None:
    batch = {"output": {"minimum": 0.4, "maximum": 0.6}, **targets(0.0, 1.0, 0.01)}
    assert problem.check(history(batch, loss="mse", output=output)) is None


def test_the_margin_counts_in_standard_deviations() -> None:
    made = history(targets(-1.9, 2.9, 4.0), loss="mse", output="sigmoid")
    assert ImproperOutput(margin=1).check(made) is None
    assert ImproperOutput(margin=0.9).check(made) is not None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        pytest.param(-1.0, 1.0, False, id="within"),
        pytest.param(-9.0, 9.0, True, id="far-outside"),
        pytest.param(nan, nan, False, id="nan"),
    ],
)
def test_a_clipped_output_reaches_what_it_puts_out(low: float, high: float, expected: bool) -> None:
    ends = {"minimum": -1.0, "maximum": 1.0}
    clipped = {**ends, "lower_quartile": -1.0, "upper_quartile": 1.0}
    batch = {"output": clipped, **targets(low, high)}
    assert bool(problem.check(history(batch, loss="mse", output="clamp"))) is expected
    unclipped = {**ends, "lower_quartile": -0.5, "upper_quartile": 0.5}
    batch = {"output": unclipped, **targets(low, high)}
    assert problem.check(history(batch, loss="mse", output="clamp")) is None


def test_the_range_is_that_of_the_newest_batch() -> None:
    made = history(targets(-9, 9), loss="mse", output="sigmoid")
    made.append(Vitals(step=1, tables=[Table.of("batch", 1, targets(0, 1))]))
    assert problem.check(made) is None


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(
            history(output="softmax", output_shape=(8, 1)),
            "softmax over a single unit is always 1",
            id="single",
        ),
        pytest.param(
            history(output="relu", loss="cross_entropy"),
            "relu before cross_entropy, which expects logits",
            id="logits",
        ),
        pytest.param(
            history(targets(-3, 0.25), output="relu", loss="mse"),
            "relu outputs 0 to inf, but targets range from -3 to 0.25",
            id="reach",
        ),
    ],
)
def test_the_finding_names_the_step_and_what_does_not_fit(made: History, message: str) -> None:
    made.append(Vitals(step=7, epoch=3, scalars={"accuracy": 0.1}))
    finding = problem.check(made)
    assert finding is not None
    assert (finding.problem, finding.severity) == ("improper_output", "critical")
    assert (finding.step, finding.epoch, finding.layers) == (7, 3, ())
    assert finding.message == message


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        pytest.param({"output": "softmax", "mixes_samples": True}, True, id="over-the-samples"),
        pytest.param({"output": "linear", "takes_probabilities": True}, True, id="log-of-logits"),
        pytest.param({"output": "tanh", "reach": 0.74}, True, id="tanh"),
        pytest.param({"output": "tanh", "reach": 0.75}, False, id="at-the-limit"),
        pytest.param({"output": "softmax", "reach": 0.3}, False, id="is-a-double-activation"),
        pytest.param({"output": "linear"}, False, id="linear"),
    ],
)
def test_what_calling_the_loss_has_shown(setup: dict[str, Any], expected: bool) -> None:
    assert bool(problem.check(history(**setup))) is expected


@pytest.mark.parametrize(
    ("task", "shape", "expected"),
    [
        pytest.param("multiclass", (8,), False, id="class-numbers"),
        pytest.param("next_token", (8,), False, id="tokens"),
        pytest.param("multiclass", (8, 10), True, id="a-value-for-every-output"),
        pytest.param("regression", (8,), True, id="numbers"),
    ],
)
def test_class_numbers_are_no_range(task: str, shape: tuple[int, ...], expected: bool) -> None:
    known: dict[str, Any] = {"loss": "mse", "output": "softmax", "output_shape": (8, 10)}
    made = history(targets(0.0, 9.0), task=task, target_shape=shape, **known)
    assert bool(problem.check(made)) is expected


@pytest.mark.parametrize(
    ("output", "task", "loss", "expected"),
    [
        pytest.param("softmax", "multilabel", "bce", True, id="tags"),
        pytest.param("softmax", "multilabel", "multilabel_margin", True, id="margin"),
        pytest.param("sigmoid", "multilabel", "bce", False, id="sigmoid"),
        pytest.param("softmax", "multiclass", "bce", False, id="one-of-several"),
        pytest.param("softmax", "multilabel", "mse", False, id="another-loss"),
        pytest.param("softmax", "multilabel", "", False, id="loss-not-known"),
    ],
)
def test_softmax_over_several_labels(output: str, task: str, loss: str, expected: bool) -> None:
    made = history(output=output, task=task, loss=loss, output_shape=(8, 5))
    finding = problem.check(made)
    assert bool(finding) is expected
    if finding is not None:
        assert finding.message == "softmax shares 1 among labels of which several may hold"


@pytest.mark.parametrize(
    ("scores", "loss", "changed", "expected"),
    [
        pytest.param(0.5, 4.1, {}, True, id="ignorant"),
        pytest.param(0.5, 3.7, {}, False, id="the-loss-falls"),
        pytest.param(0.2, 4.1, {}, False, id="mostly-wrong"),
        pytest.param(1.0, 4.1, {}, True, id="always-right"),
        pytest.param(0.5, 4.1, {"scale": 0.5}, False, id="at-the-limit"),
        pytest.param(0.5, 4.1, {"scale": 1.0}, False, id="no-factor"),
        pytest.param(0.5, 4.1, {"loss": "bce_logits"}, False, id="another-loss"),
        pytest.param(0.5, nan, {}, False, id="nan"),
    ],
)
def test_outputs_that_are_held_back(
    scores: float, loss: float, changed: dict[str, Any], expected: bool
) -> None:
    known = {"loss": "cross_entropy", "output_shape": (64, 64), "scale": 0.07, **changed}
    made = History(Setup(**known), loss=90 * [loss])
    made.extend(89, 0, {"score": ([80], [scores]), "constant_score": ([80], [0.02])})
    assert problem.check(made) is None
    made.ended = True
    finding = problem.check(made)
    assert bool(finding) is expected
    if finding is not None:
        assert finding.severity == "info"
