from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.gradients.gradient_reaches_every_parameter import (
    GradientReachesEveryParameter,
)
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


def examined(model: nn.Module, batch: Any = None, loss: Any = None) -> Result:
    batch = data() if batch is None else batch
    return checkup(model, batch, loss, tests=GradientReachesEveryParameter()).results[0]


def with_zeros(model: nn.Module, *names: str) -> nn.Module:
    for name, each in model.named_parameters():
        if name in names:
            nn.init.zeros_(each)
    return model


def lora() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.base(x) + self.b(self.a(x))

    parts = {"base": nn.Linear(8, 3), "a": nn.Linear(8, 2, bias=False), "b": nn.Linear(2, 3)}
    parts["base"].requires_grad_(False)
    return with_zeros(Made(forward, **parts), "b.weight", "b.bias")


def gated() -> nn.Module:
    """As a diffusion transformer: a zero gate made by a zero layer, and a zero head."""

    def forward(self: Any, x: Tensor) -> Any:
        return self.head(x + self.gate(x) * self.inner(x))

    model = Made(forward, gate=nn.Linear(8, 8), inner=nn.Linear(8, 8), head=nn.Linear(8, 3))
    return with_zeros(model, "gate.weight", "gate.bias", "head.weight", "head.bias")


def with_a_critic() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        hidden = self.trunk(x).relu()
        return self.actor(hidden), self.critic(hidden.detach())

    return Made(forward, trunk=nn.Linear(8, 8), actor=nn.Linear(8, 3), critic=nn.Linear(8, 1))


def unit_vectors() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return nn.functional.normalize(self.inner(x), dim=-1)

    return Made(forward, inner=mlp())


def both_directions() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.head(self.rnn(self.tokens(x))[0][:, -1])

    rnn = nn.GRU(8, 4, 2, batch_first=True, bidirectional=True)
    return Made(forward, tokens=nn.Embedding(9, 8), rnn=rnn, head=nn.Linear(8, 3))


def experts() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        chosen = (x[:, 0] > 100).long()
        found = x.new_zeros(len(x), 3)
        for place, each in enumerate(self.each):
            found = found.index_put((chosen == place,), each(x[chosen == place]))
        return found

    return Made(forward, each=nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 3)]))


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(mlp, None, id="mlp"),
        pytest.param(cnn, images(), id="cnn-with-a-bias-before-batch-norm"),
        pytest.param(Recurrent, sentences(), id="lstm"),
        pytest.param(both_directions, sentences(), id="one-step-of-a-direction"),
        pytest.param(Transformer, sentences(), id="transformer"),
        pytest.param(lora, None, id="lora"),
        pytest.param(gated, None, id="zero-gate-and-zero-head"),
        pytest.param(lambda: with_zeros(mlp(), "4.weight", "4.bias"), None, id="zero-head"),
        pytest.param(with_a_critic, None, id="second-output"),
        pytest.param(unit_vectors, inputs(), id="unit-vectors-without-a-loss"),
        pytest.param(experts, None, id="expert-without-a-sample"),
        pytest.param(lambda: nn.Sequential(nn.LayerNorm(8)), inputs(), id="norm-without-a-loss"),
        pytest.param(
            lambda: nn.Sequential(nn.Linear(8, 8).requires_grad_(False), nn.Linear(8, 3)),
            None,
            id="frozen",
        ),
    ],
)
def test_passes(make: Callable[[], nn.Module], batch: Any) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "passed", result.message


def detached() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.head(self.trunk(x).detach())

    return Made(forward, trunk=nn.Linear(8, 8), head=nn.Linear(8, 3))


def without_its_bias() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return nn.functional.linear(x, self.inner.weight, self.inner.bias.detach())

    return Made(forward, inner=nn.Linear(8, 3))


def rounded() -> nn.Module:
    return Made(lambda self, x: self.head(self.trunk(x).round()), trunk=mlp(), head=nn.Linear(3, 3))


def dead() -> nn.Module:
    model = mlp()
    assert isinstance(model[0].bias, Tensor)
    nn.init.constant_(model[0].bias, -100)
    return model


def saturated() -> nn.Module:
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
    assert isinstance(model[0].bias, Tensor)
    nn.init.constant_(model[0].bias, 300)
    return model


def two_zero_layers() -> nn.Module:
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
    return with_zeros(model, "2.weight", "2.bias", "4.weight", "4.bias")


@pytest.mark.parametrize(
    ("make", "what", "layer"),
    [
        pytest.param(detached, "no gradient", "trunk.weight", id="detached"),
        pytest.param(without_its_bias, "no gradient", "inner.bias", id="detached-bias"),
        pytest.param(rounded, "only zeros", "trunk.0.weight", id="rounded"),
        pytest.param(dead, "only zeros", "0.weight", id="dead"),
        pytest.param(saturated, "only zeros", "0.weight", id="saturated"),
        pytest.param(two_zero_layers, "only zeros", "0.weight", id="two-zero-layers"),
    ],
)
def test_fails(make: Callable[[], nn.Module], what: str, layer: str) -> None:
    torch.manual_seed(0)
    result = examined(make())
    assert result.outcome == "failed"
    assert what in result.message
    assert layer in result.layers


def test_another_output_does_not_excuse_a_loss_without_gradient() -> None:
    torch.manual_seed(0)
    model = Made(lambda self, x: (self.head(x), self.head(x)), head=nn.Linear(8, 3))

    def loss(output: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output.detach(), targets)

    result = examined(model, None, loss)
    assert result.outcome == "failed"
    assert result.message == "head.weight and 1 more of 2 got no gradient"


def test_nan_fails() -> None:
    model = Made(lambda self, x: self.head((x * self.by).square().sqrt()), head=nn.Linear(8, 3))
    model.by = nn.Parameter(torch.zeros(8))
    result = examined(model)
    assert result.outcome == "failed"
    assert "NaN or Inf" in result.message


def test_no_parameter() -> None:
    assert examined(nn.Flatten(), inputs()).outcome == "skipped"


def with_a_pooler() -> nn.Module:
    """As BERT with a head for tokens: it returns its pooled output, but no loss uses it."""

    def forward(self: Any, x: Tensor) -> Any:
        hidden = self.trunk(x).relu()
        return {"logits": self.head(hidden), "pooled": self.pooler(hidden).tanh().detach()}

    return Made(forward, trunk=nn.Linear(8, 16), head=nn.Linear(16, 3), pooler=nn.Linear(16, 4))


def with_deeper_stages() -> nn.Module:
    """As PSPNet: its encoder has more stages than the decoder looks at."""

    def forward(self: Any, x: Tensor) -> Any:
        stages = [self.one(x), self.two(self.one(x))]
        return self.head(stages[0])

    return Made(forward, one=nn.Linear(8, 8), two=nn.Linear(8, 99), head=nn.Linear(8, 3))


def with_a_cut_part(width: int) -> nn.Module:
    """Its first layer, of 9 weights for each unit, gets no gradient; the rest has 867."""

    def forward(self: Any, x: Tensor) -> Any:
        return self.head(torch.cat([x, self.cut(x).detach()[:, :1]], 1).repeat(1, 32))

    return Made(forward, cut=nn.Linear(8, width), head=nn.Linear(288, 3))


@pytest.mark.parametrize(
    ("make", "severity"),
    [
        (with_a_pooler, "warning"),
        (with_deeper_stages, "warning"),
        (lambda: with_a_cut_part(10), "warning"),
        (lambda: with_a_cut_part(11), "critical"),
        (detached, "critical"),
        (dead, "critical"),
    ],
)
def test_what_the_loss_does_without_is_a_warning(make: Any, severity: str) -> None:
    torch.manual_seed(0)
    result = examined(make())
    assert (result.outcome, result.severity) == ("failed", severity)


class Heads(nn.Module):
    """Answers with a class and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.kind, self.size = nn.Linear(4, 32), nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Any:
        hidden = self.body(x).relu()
        return self.kind(hidden), self.size(hidden)


def test_a_head_that_the_loss_leaves_out_is_found() -> None:
    def both(output: Any, targets: Any) -> Tensor:
        first: Tensor = nn.functional.cross_entropy(output[0], targets[0])
        return first + nn.functional.mse_loss(output[1], targets[1])

    def one(output: Any, targets: Any) -> Tensor:
        return nn.functional.cross_entropy(output[0], targets[0])

    batch = torch.randn(12, 4), (torch.arange(12) % 3, torch.randn(12, 1))
    for loss, outcome in ((both, "passed"), (one, "failed")):
        [result] = checkup(Heads(), batch, loss, tests="gradient_reaches_every_parameter").results
        assert result.outcome == outcome
        assert not result.layers or set(result.layers) == {"size.weight", "size.bias"}
    # A loss of torch takes the main output alone, so nothing is known of the others.
    simple = batch[0], batch[1][0]
    name = "gradient_reaches_every_parameter"
    assert checkup(Heads(), simple, nn.CrossEntropyLoss(), tests=name).ok
