"""Whether outputs are linear, and whether a loss written by hand stretches them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from sickbay.probe import linear_graph
from sickbay.probe.linear_graph import has_linear_layers, is_linear
from sickbay.probe.stretched import is_stretched
from tests.models import compiled

Loss = Callable[[Tensor], Tensor]
NUMBERS = torch.linspace(-2, 2, 18).reshape(6, 3)


def outputs() -> Tensor:
    out: Tensor = nn.Linear(4, 3)(torch.randn(6, 4))
    return out


class Sum(nn.Module):
    """The sum of what its parts return, or their product."""

    def __init__(self, *parts: nn.Module, product: bool = False) -> None:
        super().__init__()
        self.parts, self.product = nn.ModuleList(parts), product

    def forward(self, x: Tensor) -> Tensor:
        first, second = (part(x) for part in self.parts)
        out: Tensor = first * second if self.product else first + second
        return out


def linear() -> nn.Linear:
    return nn.Linear(4, 4)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(nn.Sequential(linear(), linear()), True, id="two-layers"),
        pytest.param(linear(), True, id="one-layer"),
        pytest.param(nn.Sequential(linear(), nn.Dropout(), linear()), True, id="dropout"),
        pytest.param(nn.Sequential(linear(), nn.Flatten(), linear()), True, id="moved"),
        pytest.param(Sum(linear(), linear()), True, id="sum"),
        pytest.param(Sum(linear(), linear(), product=True), False, id="product"),
        pytest.param(nn.Sequential(linear(), nn.ReLU(), linear()), False, id="relu"),
        pytest.param(nn.Sequential(linear(), nn.GELU(), linear()), False, id="gelu"),
        pytest.param(nn.Sequential(linear(), linear(), nn.Sigmoid()), False, id="at-the-end"),
        pytest.param(nn.Sequential(linear(), nn.LayerNorm(4), linear()), False, id="layer-norm"),
        pytest.param(nn.Sequential(linear(), nn.BatchNorm1d(4), linear()), False, id="batch-norm"),
    ],
)
def test_is_linear(model: nn.Module, expected: bool) -> None:
    assert is_linear(model(torch.randn(6, 4)).grad_fn) is expected


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        pytest.param(nn.AvgPool2d(2), True, id="mean-pooling"),
        pytest.param(nn.AdaptiveAvgPool2d(1), True, id="global-pooling"),
        pytest.param(nn.MaxPool2d(2), False, id="max-pooling"),
        pytest.param(nn.Conv2d(2, 2, 3), True, id="convolution"),
    ],
)
def test_convolutions_are_linear(between: nn.Module, expected: bool) -> None:
    model = nn.Sequential(nn.Conv2d(3, 2, 3), between, nn.Flatten(), nn.LazyLinear(2))
    assert is_linear(model(torch.randn(4, 3, 8, 8)).grad_fn) is expected


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        pytest.param(lambda out: 3 * out, True, id="by-a-number"),
        pytest.param(lambda out: out / 2, True, id="divided"),
        pytest.param(lambda out: -out, True, id="negated"),
        pytest.param(lambda out: out * out, False, id="squared"),
        pytest.param(lambda out: out * nn.Parameter(torch.ones(3)), True, id="by-a-parameter"),
        pytest.param(lambda out: out * nn.Parameter(torch.ones(1, 3))[0], True, id="by-a-row"),
        pytest.param(lambda out: out**2, False, id="to-a-power"),
        pytest.param(lambda out: out @ nn.Parameter(torch.ones(3, 2)), True, id="by-a-matrix"),
        pytest.param(lambda out: out @ outputs().T, False, id="two-towers"),
        pytest.param(
            lambda out: torch.bmm(out[:, None], outputs()[..., None]), False, id="two-towers-by-row"
        ),
        pytest.param(
            lambda out: torch.addmm(torch.ones(6), out, outputs().T), False, id="two-towers-shifted"
        ),
        pytest.param(
            lambda out: torch.addmm(outputs(), out, nn.Parameter(torch.eye(3))), True, id="shortcut"
        ),
        pytest.param(
            lambda out: f.conv1d(out[None], outputs().T[..., None]), False, id="computed-kernel"
        ),
    ],
)
def test_a_linear_output_that_is_scaled(scale: Callable[[Tensor], Tensor], expected: bool) -> None:
    assert is_linear(scale(outputs()).grad_fn) is expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param(nn.Sequential(linear(), linear()), True, id="two-layers"),
        pytest.param(linear(), False, id="one-layer"),
        pytest.param(nn.Sequential(linear(), linear(), nn.Softmax(dim=1)), True, id="softmax"),
        pytest.param(nn.Sequential(linear(), nn.Sigmoid()), False, id="one-layer-and-sigmoid"),
        pytest.param(nn.Sequential(linear(), nn.ReLU(), linear()), False, id="relu"),
        pytest.param(
            nn.Sequential(linear(), nn.Tanh(), linear(), nn.Softmax(dim=1)), False, id="both"
        ),
        pytest.param(Sum(linear(), linear()), False, id="side-by-side"),
        pytest.param(
            nn.Sequential(linear().requires_grad_(False), nn.ReLU(), linear()), False, id="a-head"
        ),
    ],
)
def test_layers_without_an_activation_between_them(model: nn.Module, expected: bool) -> None:
    assert has_linear_layers(model(torch.randn(6, 4)).grad_fn) is expected


def test_recurrent_and_compiled_layers_are_not_linear() -> None:
    states, _ = nn.LSTM(4, 3)(torch.randn(6, 4))
    assert not is_linear(states.grad_fn)
    assert not is_linear(compiled(linear())(torch.randn(6, 4)).grad_fn)


def test_a_huge_graph_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    out = nn.Sequential(linear(), linear(), linear())(torch.randn(6, 4))
    monkeypatch.setattr(linear_graph, "NODES", 3)
    assert not is_linear(out.grad_fn)


Y = torch.linspace(-1, 1, 6)
QUANTILES = torch.tensor([[0.1, 0.5, 0.9]])


def pinball(out: Tensor) -> Tensor:
    error = Y[:, None] - out
    return torch.maximum(QUANTILES * error, (QUANTILES - 1) * error).mean()


@pytest.mark.parametrize(
    ("width", "loss", "expected"),
    [
        pytest.param(1, lambda out: ((out - Y) ** 2).mean(), True, id="squared"),
        pytest.param(1, lambda out: (Y - out).square().mean(), True, id="the-other-way"),
        pytest.param(1, lambda out: (out - Y).abs().mean(), True, id="absolute"),
        pytest.param(1, lambda out: (Y * out.sigmoid().log()).mean(), True, id="logarithm"),
        pytest.param(1, lambda out: ((out[:, 0] - Y[:, None]) ** 2).mean(), True, id="a-row"),
        pytest.param(1, lambda out: ((out - Y[:, None]) ** 2).mean(), False, id="columns"),
        pytest.param(1, lambda out: ((out.squeeze() - Y) ** 2).mean(), False, id="squeezed"),
        pytest.param(1, lambda out: (Y * (out - Y[:, None]) ** 2).mean(), False, id="weights"),
        pytest.param(1, lambda out: f.softplus(out.T - out).mean(), False, id="ranking"),
        pytest.param(3, lambda out: (out @ out.T).logsumexp(1).mean(), False, id="contrastive"),
        pytest.param(3, lambda out: torch.cdist(out, out).mean(), False, id="distances"),
        pytest.param(3, pinball, False, id="quantiles"),
        pytest.param(3, lambda out: ((out - NUMBERS) ** 2).mean(), False, id="as-many-targets"),
        pytest.param(6, lambda out: ((out - Y) ** 2).mean(), False, id="as-many-units-as-samples"),
    ],
)
def test_a_loss_written_by_hand_that_is_stretched(width: int, loss: Loss, expected: bool) -> None:
    out = nn.Linear(4, width)(torch.randn(6, 4))
    assert is_stretched(loss(out).grad_fn, out.grad_fn) is expected


MASK = torch.where(Y[None] >= Y[:, None], 0.0, -1e9)
CHOSEN = (Y[None] >= Y[:, None]).float()


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda h: -(h - (h + MASK).logsumexp(1)).mean(), id="mask-is-added"),
        pytest.param(lambda h: (CHOSEN * h.sigmoid()).sum(1).log().mean(), id="samples-are-chosen"),
    ],
)
def test_samples_may_be_compared_with_each_other(loss: Loss, backward: bool) -> None:
    out = nn.Linear(4, 1)(torch.randn(6, 4))
    value = loss(out.squeeze(1))
    if backward:
        value.backward()  # type: ignore[no-untyped-call]
    assert not is_stretched(value.grad_fn, out.grad_fn)


def test_a_matrix_of_weights_is_no_target() -> None:
    out = nn.Linear(4, 1)(torch.randn(6, 4))
    assert not is_stretched((CHOSEN * out.squeeze(1)).sum().grad_fn, out.grad_fn)


def test_a_single_sample_is_not_stretched() -> None:
    out = nn.Linear(4, 1)(torch.randn(1, 4))
    assert not is_stretched(((out - Y[:1]) ** 2).mean().grad_fn, out.grad_fn)


def test_it_is_seen_after_backward_has_freed_the_graph() -> None:
    out = nn.Linear(4, 1)(torch.randn(6, 4))
    loss = ((out - Y) ** 2).mean()
    loss.backward()
    assert is_stretched(loss.grad_fn, out.grad_fn)
    assert is_linear(out.grad_fn)


def test_values_beside_a_policy_are_outputs_too() -> None:
    policy, critic = nn.Linear(4, 3), nn.Linear(4, 1)
    x = torch.randn(6, 4)
    source, values, own = policy(x).grad_fn, critic(x), {id(critic.weight)}
    wrong, right = (((Y - each) ** 2).mean().grad_fn for each in (values, values.squeeze(1)))
    assert is_stretched(wrong, source, own)
    assert not is_stretched(wrong, source)
    assert not is_stretched(right, source, own)
