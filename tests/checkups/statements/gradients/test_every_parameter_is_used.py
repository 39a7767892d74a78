from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.gradients.every_parameter_is_used import EveryParameterIsUsed
from tests.checkups.function_models import (
    Made,
    Recurrent,
    Transformer,
    data,
    inputs,
    mlp,
    sentences,
)


def examined(model: nn.Module, batch: Any = None) -> Result:
    return checkup(model, data() if batch is None else batch, tests=EveryParameterIsUsed()).results[
        0
    ]


class Swish(torch.autograd.Function):
    """Something that torch's own functions do not show."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, by: Tensor) -> Tensor:
        ctx.save_for_backward(x, by)
        return x.mul(2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        return gradients[0] * 2, gradients[0].sum(0) + 0 * ctx.saved_tensors[1]


swish: Any = Swish.apply


def tied() -> nn.Module:
    model = Made(lambda self, x: self.b(self.a(x)), a=nn.Linear(8, 8), b=nn.Linear(8, 8))
    model.b.weight = model.a.weight
    return model


def attention() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.inner(*[x.view(-1, 2, 4)] * 3)[0]

    return Made(forward, inner=nn.MultiheadAttention(4, 2, add_bias_kv=True, batch_first=True))


def separate_attention() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        split = x.view(-1, 2, 4)
        return self.inner(split, split[..., :3], split[..., :2])[0]

    return Made(forward, inner=nn.MultiheadAttention(4, 2, kdim=3, vdim=2, batch_first=True))


def held_by_a_function() -> nn.Module:
    inner = nn.Linear(8, 8)
    return Made(lambda _, x: inner(x), inner=inner)


def made_in_the_pass() -> nn.Module:
    return Made(lambda self, x: nn.Linear(8, 3)(self.a(x)), a=nn.Linear(8, 8))


def pretrained_in_a_list() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        with torch.no_grad():
            known = self.teacher[0](x)
        return self.head(known)

    return Made(forward, teacher=[nn.Linear(8, 8)], head=nn.Linear(8, 3))


def skipped_at_times() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.head(x if self.training else x + self.inner(x))

    return Made(forward, inner=nn.Linear(8, 8), head=nn.Linear(8, 3))


def for_training_only() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return (self.head(x), self.more(x)) if self.training else self.head(x)

    return Made(forward, head=nn.Linear(8, 3), more=nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(mlp, None, id="mlp"),
        pytest.param(Recurrent, sentences(), id="lstm"),
        pytest.param(Transformer, sentences(), id="transformer"),
        pytest.param(tied, inputs(), id="tied"),
        pytest.param(attention, inputs(), id="attention"),
        pytest.param(separate_attention, inputs(), id="attention-of-different-widths"),
        pytest.param(
            lambda: nn.TransformerEncoderLayer(8, 2, 16), inputs(), id="transformer-encoder"
        ),
        pytest.param(lambda: nn.GRU(8, 4, 2, bidirectional=True), inputs(), id="gru"),
        pytest.param(lambda: nn.LSTM(8, 4, proj_size=2), inputs(), id="projected-lstm"),
        pytest.param(lambda: parametrizations.weight_norm(nn.Linear(8, 3)), None, id="weight-norm"),
        pytest.param(
            lambda: parametrizations.spectral_norm(nn.Linear(8, 3)), None, id="spectral-norm"
        ),
        pytest.param(
            lambda: Made(
                lambda self, x: F.linear(x, self.all[0].t(), self.all[1]),
                all=nn.ParameterList([torch.randn(8, 3), torch.zeros(3)]),
            ),
            None,
            id="functional",
        ),
        pytest.param(
            lambda: Made(lambda self, x: swish(x, self.by), by=nn.Parameter(torch.ones(8))),
            inputs(),
            id="own-function",
        ),
        pytest.param(
            lambda: Made(lambda self, x: x @ self.by.data, by=nn.Parameter(torch.ones(8, 3))),
            inputs(),
            id="cut-off-is-not-unused",
        ),
        pytest.param(
            lambda: Made(lambda self, x: self.all[0](x), a=(a := nn.Linear(8, 3)), all=[a]),
            None,
            id="list-of-known-layers",
        ),
        pytest.param(pretrained_in_a_list, None, id="list-without-gradients"),
        pytest.param(held_by_a_function, None, id="held-by-a-function"),
        pytest.param(skipped_at_times, None, id="not-in-training"),
        pytest.param(for_training_only, None, id="not-in-evaluation"),
        pytest.param(
            lambda: Made(
                lambda self, x: self.a(x),
                a=nn.Linear(8, 3),
                b=nn.Linear(8, 3).requires_grad_(False),
            ),
            None,
            id="frozen",
        ),
    ],
)
def test_passes(make: Callable[[], nn.Module], batch: Any) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "passed", result.message


def only_looked_at() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        size = self.b.weight.size(0) + self.b.weight.shape[1] + len(self.b.weight)
        return self.a(x.to(self.b.weight.device)) * size + self.b.weight.new_zeros(3)

    return Made(forward, a=nn.Linear(8, 3), b=nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("make", "layers", "part"),
    [
        pytest.param(
            lambda: Made(lambda self, x: self.a(x), a=nn.Linear(8, 3), b=nn.Linear(8, 3)),
            ("b.weight", "b.bias"),
            "b.weight and 1 more of 4 are not used",
            id="left-out",
        ),
        pytest.param(
            only_looked_at,
            ("b.weight", "b.bias"),
            "not used in the forward pass",
            id="only-looked-at",
        ),
        pytest.param(
            lambda: Made(
                lambda self, x: self.a(self.layers[0](x)),
                a=nn.Linear(8, 3),
                layers=[nn.Linear(8, 8)],
            ),
            ("layers[0].weight", "layers[0].bias"),
            "not part of the model",
            id="list",
        ),
        pytest.param(
            lambda: nn.Sequential(
                nn.Linear(8, 8),
                Made(lambda self, x: self.by["b"][0](x), by={"b": (nn.Linear(8, 3, bias=False),)}),
            ),
            ("1.by['b'][0].weight",),
            "not part of the model",
            id="dict-of-tuples",
        ),
        pytest.param(
            lambda: Made(
                lambda self, x: self.a(x) * self.by,
                a=nn.Linear(8, 3),
                by=torch.ones(3, requires_grad=True),
            ),
            ("by",),
            "by is trained",
            id="plain-tensor",
        ),
    ],
)
def test_fails(make: Callable[[], nn.Module], layers: tuple[str, ...], part: str) -> None:
    torch.manual_seed(0)
    result = examined(make())
    assert result.outcome == "failed"
    assert result.layers == layers
    assert part in result.message


def test_parameters_that_few_samples_use_are_looked_for_in_more() -> None:
    def forward(self: Any, x: Tensor) -> Any:
        return self.a(x) + (self.b(x) if (x[:, 0] > 50).any() else 0)

    batch = torch.ones(64, 8)
    batch[40] = 100
    model = Made(forward, a=nn.Linear(8, 3), b=nn.Linear(8, 3))
    assert examined(model, batch).outcome == "passed"
    assert examined(model, batch[:32]).outcome == "failed"


def test_nothing_to_train() -> None:
    assert examined(nn.Linear(8, 3).requires_grad_(False)).outcome == "skipped"


def test_the_model_is_left_alone() -> None:
    model = Made(lambda self, x: self.a[0](x), a=[nn.Linear(8, 3)], b=nn.Linear(8, 3))
    examined(model)
    assert model.a[0].weight.grad is None


def test_a_layer_created_in_the_forward_pass() -> None:
    result = examined(made_in_the_pass())
    assert result.outcome == "failed"
    assert result.message.startswith("a layer defined elsewhere is trained")
