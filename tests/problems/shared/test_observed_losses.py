"""What is wrong with a loss, by what it does to the outputs in the loop."""

from collections.abc import Sequence
from math import nan
from typing import Any

import pytest

from sickbay.history import History
from sickbay.problems import ImproperLoss
from sickbay.problems.shared.observed_losses import observed_fault
from sickbay.vitals import Setup

AWAY = "the loss pulls the outputs away from the targets, as with the wrong sign"


@pytest.mark.parametrize(
    ("pulls", "setup", "expected"),
    [
        pytest.param([-1.0] * 3, {"loss": "mse"}, AWAY, id="away"),
        pytest.param([-0.2] * 3, {"loss": "mse"}, "", id="at-the-limit"),
        pytest.param([-0.21] * 3, {"loss": "mse"}, AWAY, id="below-the-limit"),
        pytest.param([1.0] * 3, {"loss": "mse"}, "", id="towards"),
        pytest.param([-1.0] * 2, {"loss": "mse"}, "", id="too-early"),
        pytest.param([], {"loss": "mse"}, "", id="no-reading"),
        pytest.param([-1.0, 1.0, -1.0], {"loss": "mse"}, "", id="another-between"),
        pytest.param([1.0, *3 * [-1.0]], {"loss": "mse"}, AWAY, id="forgets-what-was-long-ago"),
        pytest.param([-1.0, -1.0, nan], {"loss": "mse"}, "", id="nan-now"),
        pytest.param([nan, -1.0, -1.0], {"loss": "mse"}, "", id="nan-before"),
        pytest.param([-1.0] * 3, {}, "", id="loss-not-known"),
        pytest.param([-1.0] * 3, {"loss": "mse", "stretched": True}, "", id="stretched"),
    ],
)
def test_it_pulls_the_wrong_way(pulls: Sequence[float], setup: Any, expected: str) -> None:
    made = History(Setup(**setup), loss=[1.0] * 9, pull=pulls)
    assert observed_fault(made) == expected
    finding = ImproperLoss().check(made)
    assert (finding.message if finding else "") == expected


@pytest.mark.parametrize("output", ["softmax", "sigmoid", "linear"])
def test_a_negative_loss_may_be_right(output: str) -> None:
    assert observed_fault(History(Setup(output=output), loss=[-9.0] * 9)) == ""


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        pytest.param([0.0] * 5, True, id="always"),
        pytest.param([0.0] * 4, False, id="too-early"),
        pytest.param([0.0] * 6, False, id="too-late"),
        pytest.param([0.0] * 4 + [1e-30], False, id="any-scale"),
        pytest.param([1.0] + [0.0] * 4, False, id="not-at-first"),
        pytest.param([nan] * 5, False, id="nan"),
    ],
)
def test_it_is_zero_from_the_start(losses: Sequence[float], expected: bool) -> None:
    found = observed_fault(History(loss=losses))
    assert found == ("the loss is 0 from the first step on" if expected else "")


@pytest.mark.parametrize(
    ("changed", "score", "steps", "expected"),
    [
        pytest.param({}, 0.5, 72, True, id="guesses"),
        pytest.param({}, 0.5, 71, True, id="at-the-limit"),
        pytest.param({}, 0.5, 70, False, id="too-early"),
        pytest.param({}, 0.56, 72, False, id="learns"),
        pytest.param({}, nan, 72, False, id="nan"),
        pytest.param({"task": "binary", "output": "sigmoid"}, 0.5, 72, True, id="binary"),
        pytest.param({"task": "multilabel"}, 0.5, 72, False, id="tags"),
        pytest.param({"loss": "cross_entropy"}, 0.5, 72, False, id="another-loss"),
        pytest.param({"output": "linear"}, 0.5, 72, False, id="linear"),
    ],
)
def test_a_distance_between_probabilities(
    changed: dict[str, str], score: float, steps: int, expected: bool
) -> None:
    known: Any = {"loss": "mse", "output": "softmax", "task": "multiclass", **changed}
    scored, constant = steps * [score], steps * [0.5]
    made = History(Setup(**known), loss=steps * [1.0], score=scored, constant_score=constant)
    words = f"mse of {known['output']} outputs has hardly any gradient where the model is wrong"
    assert observed_fault(made) == (words if expected else "")


@pytest.mark.parametrize(("newest", "expected"), [(0.96, True), (0.94, False)])
def test_a_distance_that_learns_the_base_rate(newest: float, expected: bool) -> None:
    setup = Setup(loss="mse", output="sigmoid", task="binary")
    losses = [1.0, *71 * [newest]]
    made = History(setup, loss=losses, score=72 * [0.8], constant_score=72 * [0.8])
    assert bool(observed_fault(made)) is expected


@pytest.mark.parametrize(
    ("spreads", "outputs", "expected"),
    [
        pytest.param([0.0] * 4, [0.5] * 4, True, id="all-alike"),
        pytest.param([0.0] * 3, [0.5] * 4, False, id="too-early"),
        pytest.param([0.0, 0.0, 0.0, 0.1], [0.5] * 4, False, id="not-always"),
        pytest.param([0.0] * 4, [0.5, 0.5, 0.5, 0.0], False, id="samples-that-are-the-same"),
        pytest.param([0.0] * 4, [], False, id="outputs-not-known"),
    ],
)
def test_it_compares_averages(
    spreads: Sequence[float], outputs: Sequence[float], expected: bool
) -> None:
    sizes = [1.0, 0.9, 0.8, 0.7]
    made = History(Setup(), pull_spread=spreads, pull_size=sizes, output_spread=outputs)
    assert ("averages over the batch" in observed_fault(made)) is expected


@pytest.mark.parametrize(
    ("changed", "spread", "expected"),
    [
        pytest.param({"averages_errors": True}, 0.0, True, id="of-errors"),
        pytest.param({}, 0.0, False, id="of-outputs-as-in-an-ensemble"),
        pytest.param({"averages_errors": True, "output_shape": (32, 2)}, 0.0, False, id="two"),
        pytest.param({"averages_errors": True}, 0.1, False, id="each-its-own"),
    ],
)
def test_it_averages_a_sample(changed: dict[str, Any], spread: float, expected: bool) -> None:
    setup = Setup(**{"output_shape": (32, 3), **changed})
    made = History(setup, pull_spread_within=[spread] * 4, pull_size=[1.0, 0.9, 0.8, 0.7])
    assert ("averages over the outputs" in observed_fault(made)) is expected


@pytest.mark.parametrize(
    ("slopes", "expected"),
    [
        pytest.param([1.0] * 3, True, id="upside-down"),
        pytest.param([0.5] * 3, False, id="at-the-limit"),
        pytest.param([0.51] * 3, True, id="above-the-limit"),
        pytest.param([-1.0] * 3, False, id="made-up-for"),
        pytest.param([1.0] * 2, False, id="too-early"),
        pytest.param([1.0, 0.0, 1.0], False, id="another-between"),
    ],
)
def test_weights_upside_down(slopes: Sequence[float], expected: bool) -> None:
    assert ("more frequent" in observed_fault(History(weight_slope=slopes))) is expected


@pytest.mark.parametrize(
    ("pulls", "norms", "losses", "size", "expected"),
    [
        pytest.param([0.0] * 3, [0.0] * 3, [50.0] * 3, 9.0, True, id="nothing"),
        pytest.param([0.0] * 2, [0.0] * 3, [50.0] * 3, 9.0, False, id="too-early"),
        pytest.param([1.0, *3 * [0.0]], [0.0] * 3, [50.0] * 3, 9.0, False, id="at-first"),
        pytest.param([0.0] * 3, [0.1, 0.0, 0.0], [50.0] * 3, 9.0, False, id="another-term"),
        pytest.param([0.0] * 3, [], [50.0] * 3, 9.0, False, id="gradient-not-known"),
        pytest.param([0.0] * 3, [0.0] * 3, [50.0, 0.0, 50.0], 9.0, False, id="no-loss-either"),
        pytest.param([0.0] * 3, [0.0] * 3, [50.0] * 3, 16.0, False, id="certain"),
        pytest.param([0.0] * 3, [0.0] * 3, [50.0] * 3, nan, False, id="nan"),
    ],
)
def test_it_gives_nothing_any_gradient(
    pulls: list[float], norms: list[float], losses: list[float], size: float, expected: bool
) -> None:
    made = History(pull_size=pulls, grad_norm=norms, loss=losses)
    made.add_table("batch", {"output": {"minimum": -size, "maximum": 1.0}})
    assert bool(observed_fault(made)) is expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([1.0, 1.0, 1.3, 1.2], True, id="averages"),
        pytest.param([1.0, 1.0, 1.0, 1.0], False, id="linear"),
        pytest.param([1.0, 1.0, 2.0, 0.5], False, id="linear-with-a-gradient-scaler"),
    ],
)
def test_a_gradient_that_is_always_the_same(sizes: list[float], expected: bool) -> None:
    made = History(pull_size=sizes, pull_spread=[0.0] * 4, output_spread=[0.5] * 4)
    assert ("averages over the batch" in observed_fault(made)) is expected


@pytest.mark.parametrize(("loss", "expected"), [("mse", True), ("poisson_nll", False), ("", False)])
def test_logarithms_of_rates_are_not_compared_with_counts(loss: str, expected: bool) -> None:
    made = History(Setup(loss=loss), pull=[-1.0] * 3)
    assert ("away from the targets" in observed_fault(made)) is expected
