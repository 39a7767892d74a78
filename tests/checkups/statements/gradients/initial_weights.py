"""Models whose initial weights are unusual, sound or not."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tests.checkups.function_models import Made, cnn


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


def gated() -> nn.Module:
    """As gMLP: gates start open with tiny weights, and the head starts at zero."""

    def forward(self: Any, x: Tensor) -> Any:
        return self.head(x * self.gate(x))

    made = Made(forward, gate=nn.Linear(8, 8), head=nn.Linear(8, 3))
    changed(made, lambda each: each.normal_(0, 1e-6), "gate.weight")
    changed(made, nn.init.ones_, "gate.bias")
    return changed(made, nn.init.zeros_, "head.weight", "head.bias")


def in_kaimings_other_mode(weight: Tensor) -> None:
    nn.init.kaiming_normal_(weight, mode="fan_out")


def own_linear(weight: Tensor) -> nn.Module:
    made = Made(lambda self, x: self.head((x @ self.by).relu()), by=nn.Parameter(weight))
    made.head = nn.Linear(weight.shape[1], 3)
    return made


def same_units(weight: Tensor) -> None:
    weight.copy_(weight[:1].expand_as(weight))
