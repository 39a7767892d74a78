from collections.abc import Callable
from math import nan
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.gradients.parameters_are_sane import ParametersAreSane
from tests.checkups.function_models import (
    Made,
    Recurrent,
    Transformer,
    cnn,
    data,
    images,
    inputs,
    mlp,
    sentences,
)


def examined(model: nn.Module, batch: Any = None) -> Result:
    batch = data() if batch is None else batch
    return checkup(model, batch, tests=ParametersAreSane()).results[0]


def changed(
    model: nn.Module, change: Callable[[Tensor], Any], *names: str, least: int = 1
) -> nn.Module:
    """Return the model with these parameters changed, else all with so many dimensions."""
    with torch.no_grad():
        for name, each in model.named_parameters():
            if name in names or (not names and each.ndim >= least):
                change(each)
    return model


def wide(width: int = 1024) -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 3))


def equalised() -> nn.Module:
    """Weights of a large scale that are scaled when they are used."""

    def forward(self: Any, x: Tensor) -> Any:
        return F.linear(F.linear(x, self.a * 0.01 * 8**-0.5), self.b * 0.01 * 900**-0.5)

    a, b = nn.Parameter(100 * torch.randn(900, 8)), nn.Parameter(100 * torch.randn(3, 900))
    return Made(forward, a=a, b=b)


def tied() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return F.linear(self.tokens(x).mean(1) * 512**-0.5, self.tokens.weight)

    return Made(forward, tokens=nn.Embedding(9, 512))


def depthwise() -> nn.Module:
    model = cnn()
    model[3] = nn.Conv2d(8, 8, 3, groups=8)
    return changed(model, lambda each: each.fill_(1 / 9), "3.weight")


def scaled_by(scale: float) -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.head(x + self.scale * self.inner(x))

    made = Made(forward, inner=nn.Linear(8, 8), head=nn.Linear(8, 3))
    made.scale = nn.Parameter(torch.full((1, 8), scale))
    return made


def lora() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.base(x) + x @ self.a @ self.b

    made = Made(forward, base=nn.Linear(8, 3).requires_grad_(False))
    made.a, made.b = nn.Parameter(torch.randn(8, 2)), nn.Parameter(torch.zeros(2, 3))
    return made


def codebook(scale: float) -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return (self.inner(x) @ self.book.t()).softmax(-1) @ self.book

    book = nn.Parameter(scale * torch.randn(4096, 64))
    return Made(forward, inner=nn.Linear(8, 64), book=book)


def averages() -> nn.Module:
    """As DLinear: every position of the forecast starts as the mean of the past."""
    one, two = (changed(nn.Linear(8, 3), lambda w: w.fill_(1 / 8), least=2) for _ in range(2))
    return Made(lambda self, x: self.one(x.relu()) + self.two(x.abs()), one=one, two=two)


def spectral(beside: bool) -> nn.Module:
    """As FEDformer's and FNO's mixing of frequencies, which starts at 1 / (inputs * outputs)."""

    def forward(self: Any, x: Tensor) -> Any:
        mixed = torch.einsum("nw,wv->nv", torch.fft.fft(self.lift(x)), self.weight)
        return self.head((self.lift(x) if beside else 0) + torch.fft.ifft(mixed).real)

    made = Made(forward, lift=nn.Linear(8, 256), head=nn.Linear(256, 3))
    made.weight = nn.Parameter(256**-2 * torch.rand(256, 256, dtype=torch.cfloat))
    return made


def in_kaimings_other_mode(weight: Tensor) -> None:
    nn.init.kaiming_normal_(weight, mode="fan_out")


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(mlp, None, id="mlp"),
        pytest.param(cnn, images(), id="cnn"),
        pytest.param(Recurrent, sentences(), id="lstm"),
        pytest.param(Transformer, sentences(), id="transformer"),
        pytest.param(lambda: changed(mlp(), nn.init.orthogonal_, least=2), None, id="orthogonal"),
        pytest.param(
            lambda: changed(mlp(), lambda each: each.normal_(0, 0.02), least=2), None, id="gpt"
        ),
        pytest.param(
            lambda: changed(wide(), in_kaimings_other_mode, least=2), None, id="kaiming-fan-out"
        ),
        pytest.param(lambda: changed(mlp(), nn.init.normal_, least=2), None, id="normal"),
        pytest.param(lambda: changed(mlp(), nn.init.zeros_, "4.weight"), None, id="zero-head"),
        pytest.param(
            lambda: changed(mlp(), lambda each: each.normal_(0, 1e-5), "4.weight"),
            None,
            id="tiny-head",
        ),
        pytest.param(lambda: scaled_by(1e-6), None, id="layer-scale"),
        pytest.param(averages, (inputs(), inputs()[:, :3]), id="averages"),
        pytest.param(lambda: spectral(beside=True), None, id="tiny-in-a-branch"),
        pytest.param(lambda: scaled_by(0.0), None, id="zero-layer-scale"),
        pytest.param(lora, None, id="lora"),
        pytest.param(equalised, None, id="scaled-when-used"),
        pytest.param(tied, sentences()[0], id="tied-embedding"),
        pytest.param(depthwise, images(), id="depthwise-mean"),
        pytest.param(lambda: codebook(1.0), inputs(), id="codebook"),
        pytest.param(lambda: codebook(1e-4), inputs(), id="small-codebook"),
        pytest.param(
            lambda: changed(Transformer(), nn.init.zeros_, "tokens.weight"),
            sentences(),
            id="zero-embedding",
        ),
        pytest.param(
            lambda: changed(mlp(), lambda each: each.mul_(1e3), "0.weight").requires_grad_(False),
            None,
            id="frozen",
        ),
    ],
)
def test_passes(make: Callable[[], nn.Module], batch: Any) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "passed", result.message


def own_linear(weight: Tensor) -> nn.Module:
    made = Made(lambda self, x: self.head((x @ self.by).relu()), by=nn.Parameter(weight))
    made.head = nn.Linear(weight.shape[1], 3)
    return made


def same_units(weight: Tensor) -> None:
    weight.copy_(weight[:1].expand_as(weight))


ONE = "holds a single value"


@pytest.mark.parametrize(
    ("make", "batch", "part", "layer"),
    [
        pytest.param(
            lambda: changed(mlp(), lambda each: each.fill_(0.5), "2.weight"),
            None,
            f"2.weight {ONE}",
            "2.weight",
            id="mlp-constant",
        ),
        pytest.param(
            lambda: changed(cnn(), lambda each: each.fill_(0.1), "0.weight"),
            images(),
            f"0.weight {ONE}",
            "0.weight",
            id="cnn-constant",
        ),
        pytest.param(
            lambda: changed(Recurrent(), nn.init.ones_, "rnn.weight_hh_l0"),
            sentences(),
            f"rnn.weight_hh_l0 {ONE}",
            "rnn.weight_hh_l0",
            id="lstm-constant",
        ),
        pytest.param(
            lambda: changed(Transformer(), nn.init.ones_, "blocks.0.up.weight"),
            sentences(),
            ONE,
            "blocks.0.up.weight",
            id="transformer-constant",
        ),
        pytest.param(lambda: own_linear(torch.ones(8, 8)), None, ONE, "by", id="own-constant"),
        pytest.param(
            lambda: changed(mlp(), same_units, "2.weight"),
            None,
            "2.weight is the same in every unit",
            "2.weight",
            id="mlp-symmetric",
        ),
        pytest.param(
            lambda: changed(cnn(), same_units, "3.weight"),
            images(),
            "3.weight is the same in every unit",
            "3.weight",
            id="cnn-symmetric",
        ),
        pytest.param(
            lambda: changed(mlp(), nn.init.zeros_),
            None,
            "0.weight and 2 more of 3 stay at zero",
            "0.weight",
            id="all-zero",
        ),
        pytest.param(
            lambda: changed(mlp(), nn.init.zeros_, "2.weight", "2.bias", "4.weight"),
            None,
            "at zero",
            "2.weight",
            id="two-zero-layers",
        ),
        pytest.param(
            lambda: changed(mlp(), lambda each: each.mul_(100), "2.weight"),
            None,
            "(limit 20, usually 0.1 to 2)",
            "2.weight",
            id="mlp-large",
        ),
        pytest.param(
            lambda: changed(cnn(), lambda each: each.mul_(100), "3.weight"),
            images(),
            "(limit 20,",
            "3.weight",
            id="cnn-large",
        ),
        pytest.param(
            lambda: changed(Recurrent(), lambda each: each.mul_(100), "rnn.weight_hh_l1"),
            sentences(),
            "(limit 20,",
            "rnn.weight_hh_l1",
            id="lstm-large",
        ),
        pytest.param(
            lambda: changed(Transformer(), lambda each: each.mul_(100), "tokens.weight"),
            sentences(),
            "(limit 20,",
            "tokens.weight",
            id="embedding-large",
        ),
        pytest.param(
            lambda: own_linear(100 * torch.randn(8, 8)), None, "(limit 20,", "by", id="own-large"
        ),
        pytest.param(
            lambda: changed(mlp(), lambda each: each.mul_(1e-3), "2.weight"),
            None,
            "(limit 0.001,",
            "2.weight",
            id="small",
        ),
        pytest.param(
            lambda: spectral(beside=False), None, "(limit 0.001,", "weight", id="small-and-complex"
        ),
        pytest.param(
            lambda: changed(mlp(), lambda each: each.fill_(nan), "2.bias"),
            None,
            "2.bias contains NaN or Inf",
            "2.bias",
            id="nan",
        ),
    ],
)
def test_fails(make: Callable[[], nn.Module], batch: Any, part: str, layer: str) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "failed"
    assert part in result.message
    assert layer in result.layers


def test_no_parameters() -> None:
    assert examined(nn.Flatten(), inputs()).outcome == "skipped"
