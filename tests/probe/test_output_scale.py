"""Constant factors of the outputs right before the loss."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import sickbay
from sickbay.history import History
from sickbay.probe.output_scale import output_scale
from sickbay.problems import ImproperOutput
from sickbay.vitals import Setup

problem = ImproperOutput()


@pytest.mark.parametrize(
    ("scaled", "expected"),
    [
        pytest.param(lambda x: x / 100, 0.01, id="divided"),
        pytest.param(lambda x: 0.01 * x, 0.01, id="multiplied"),
        pytest.param(lambda x: (x / 100).log_softmax(1).view(-1), 0.01, id="moved-on"),
        pytest.param(lambda x: x.sigmoid() / 10 / 10, 0.01, id="twice"),
        pytest.param(lambda x: x / torch.tensor(100.0), 0.01, id="tensor"),
        pytest.param(lambda x: x.sum(1) / 100, 0.01, id="sum-of-fewer"),
        pytest.param(lambda x: x.sum(1) / 6, 1.0, id="mean-by-hand"),
        pytest.param(lambda x: (x + x.exp()) / 100, 1.0, id="sum-of-models"),
        pytest.param(lambda x: x / x.norm(), 1.0, id="normalised"),
        pytest.param(lambda x: x / nn.Parameter(torch.tensor(100.0)), 1.0, id="learnt"),
        pytest.param(lambda x: x / torch.full((6,), 100.0), 1.0, id="vector"),
        pytest.param(lambda x: x / 0, 1.0, id="zero"),
        pytest.param(lambda x: (x / 100) @ torch.ones(6, 2), 1.0, id="before-a-layer"),
        pytest.param(lambda x: x, 1.0, id="none"),
    ],
)
def test_factors(scaled: Callable[[Tensor], Tensor], expected: float) -> None:
    outputs = torch.linspace(-1, 1, 24).reshape(4, 6).requires_grad_().tanh()
    assert output_scale(scaled(outputs).grad_fn) == pytest.approx(expected)


def test_after_backward_nothing_is_known() -> None:
    outputs = torch.ones(4, requires_grad=True).exp() / 100
    outputs.sum().backward()  # type: ignore[no-untyped-call]
    assert output_scale(outputs.grad_fn) == 1.0


@pytest.mark.parametrize("inside", [True, False])
def test_it_is_seen_in_the_model_and_in_the_loop(inside: bool) -> None:
    class Cold(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) / (100 if inside else 1)

    model, criterion = Cold(5, 3), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(16, 5), torch.arange(16) % 3
    with sickbay.watch(model, optimizer, on_finding="silent") as doctor:
        for _ in range(3):
            loss = criterion(model(x) / (1 if inside else 100), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        assert doctor.history.setup.scale == pytest.approx(0.01)


def history(scale: float = 0.01, loss: str = "cross_entropy", steps: int = 71) -> History:
    return History(Setup(scale=scale, loss=loss), loss=steps * [2.3])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(history(), True, id="cold"),
        pytest.param(history(scale=0.02), True, id="at-the-limit"),
        pytest.param(history(scale=0.021), False, id="above-the-limit"),
        pytest.param(history(scale=0.0), False, id="zero"),
        pytest.param(history(loss="mse"), False, id="numbers"),
        pytest.param(history(loss="kl_div"), False, id="distillation"),
        pytest.param(history(steps=70), False, id="too-early"),
    ],
)
def test_check(given: History, expected: bool) -> None:
    assert bool(problem.check(given)) is expected


@pytest.mark.parametrize(("score", "expected"), [(0.81, False), (0.79, True)])
def test_a_model_that_learns_is_left_alone(score: float, expected: bool) -> None:
    made = History(
        Setup(scale=0.01, loss="bce_logits"), score=100 * [score], constant_score=100 * [0.0]
    )
    assert bool(problem.check(made)) is expected


def test_a_model_that_has_learnt_is_left_alone() -> None:
    made = History(Setup(scale=0.01, loss="bce_logits"), loss=[2.0, *100 * [0.05]])
    assert problem.check(made) is None


def test_looking_for_it_repeats_no_forward_pass() -> None:
    calls = []

    def body(x: Tensor) -> Tensor:
        calls.append(1)
        return x.exp() / torch.tensor(100.0)

    outputs = checkpoint(body, torch.ones(4, 3, requires_grad=True), use_reentrant=False)
    assert output_scale(outputs.grad_fn) == 1.0
    assert len(calls) == 1
