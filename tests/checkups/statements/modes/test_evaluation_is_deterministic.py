import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.modes.evaluation_is_deterministic import EvaluationIsDeterministic
from tests.checkups.function_models import (
    Made,
    Recurrent,
    Transformer,
    cnn,
    images,
    inputs,
    sentences,
)


def examined(model: nn.Module, batch: Any = None) -> Result:
    batch = inputs() if batch is None else batch
    return checkup(model, batch, tests=EvaluationIsDeterministic()).results[0]


def variational(draw: Callable[[Tensor, Tensor], Tensor]) -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        mean, log = self.mean(x), self.log(x)
        return self.decoder(draw(mean, (log / 2).exp())), mean, log

    return Made(forward, mean=nn.Linear(8, 2), log=nn.Linear(8, 2), decoder=nn.Linear(2, 8))


def generator() -> nn.Module:
    return Made(lambda self, x: self.inner(torch.randn(len(x), 8) * 2), inner=nn.Linear(8, 8))


def diffusion() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        noise = torch.randn_like(x)
        return self.inner(0.6 * x + 0.8 * noise), noise

    return Made(forward, inner=nn.Linear(8, 8))


def diffusion_in_time() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        noise, time = torch.randn_like(x), torch.rand(len(x), 1)
        return self.inner((1 - time) * x + time * noise), noise

    return Made(forward, inner=nn.Linear(8, 8))


def conditional() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.inner(torch.cat([x, torch.randn(len(x), 4)], 1))

    return Made(forward, inner=nn.Linear(12, 8))


def random_state() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.inner(x[:, None], torch.randn(1, len(x), 3))[0]

    return Made(forward, inner=nn.GRU(8, 3, batch_first=True))


def masked() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        chosen = torch.rand_like(x).argsort(1)[:, :4]
        return self.inner(x.gather(1, chosen))

    return Made(forward, inner=nn.Linear(4, 8))


def remembering() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        self.state = self.inner(x).detach() + self.state
        return self.state

    return Made(forward, inner=nn.Linear(8, 8), state=torch.zeros(1))


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(cnn, images(), id="cnn"),
        pytest.param(Recurrent, sentences(), id="lstm"),
        pytest.param(Transformer, sentences(), id="transformer"),
        pytest.param(lambda: nn.Sequential(nn.Dropout(), nn.Linear(8, 3)), None, id="dropout"),
        pytest.param(lambda: nn.TransformerEncoderLayer(8, 2, 16), None, id="attention-dropout"),
        pytest.param(
            lambda: Made(lambda self, x: F.dropout(x, training=self.training)), None, id="function"
        ),
        pytest.param(
            lambda: variational(lambda mean, std: mean + torch.randn_like(std) * std),
            None,
            id="variational",
        ),
        pytest.param(
            lambda: variational(lambda mean, std: torch.distributions.Normal(mean, std).rsample()),
            None,
            id="variational-distribution",
        ),
        pytest.param(lambda: variational(torch.normal), None, id="sampling-from-the-learnt"),
        pytest.param(generator, None, id="generator"),
        pytest.param(diffusion, None, id="diffusion"),
        pytest.param(diffusion_in_time, None, id="diffusion-at-a-random-time"),
        pytest.param(conditional, None, id="conditional-generator"),
        pytest.param(masked, None, id="random-masks"),
        pytest.param(remembering, None, id="state"),
    ],
)
def test_passes(make: Callable[[], nn.Module], batch: Any) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "passed", result.message


def with_noise(noise: Callable[[Tensor], Tensor]) -> nn.Module:
    inner = Made(lambda _, x: noise(x))
    return nn.Sequential(nn.Linear(8, 8), inner, nn.Linear(8, 3))


class Forced(nn.Dropout):
    """Dropout that cannot be switched off."""

    def train(self, _: bool = True) -> "Forced":
        return super().train(True)


def counting() -> nn.Module:
    model = Made(lambda self, x: self.inner(x) + self.seen.add_(1), inner=nn.Linear(8, 3))
    model.register_buffer("seen", torch.zeros(1))
    return model


@pytest.mark.parametrize(
    ("make", "part", "layer"),
    [
        pytest.param(lambda: with_noise(F.dropout), "dropout in 1", "1", id="dropout"),
        pytest.param(
            lambda: with_noise(lambda x: x + 0.1 * torch.randn_like(x)),
            "randn_like",
            "1",
            id="noise",
        ),
        pytest.param(
            lambda: with_noise(lambda x: x * (torch.rand_like(x) > 0.5)),
            "rand_like",
            "1",
            id="mask",
        ),
        pytest.param(
            lambda: with_noise(lambda x: x * torch.bernoulli(torch.full_like(x, 0.5))),
            "bernoulli",
            "1",
            id="bernoulli-mask",
        ),
        pytest.param(
            lambda: with_noise(
                lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.5)[
                    0
                ]
            ),
            "scaled_dot_product_attention",
            "1",
            id="attention",
        ),
        pytest.param(
            lambda: nn.Sequential(nn.Linear(8, 8), Forced(), nn.Linear(8, 3)),
            "dropout in 1",
            "1",
            id="forced",
        ),
        pytest.param(
            lambda: with_noise(lambda x: x * (1 + 0.2 * torch.randn(8))),
            "randn",
            "1",
            id="scaling-noise",
        ),
        pytest.param(random_state, "randn", "", id="random-first-state"),
        pytest.param(counting, "seen changes in evaluation", "seen", id="buffer"),
    ],
)
def test_fails(make: Callable[[], nn.Module], part: str, layer: str) -> None:
    torch.manual_seed(0)
    result = examined(make())
    assert result.outcome == "failed"
    assert part in result.message
    assert result.layers == (layer,)


def scaled(self: Any, x: Tensor) -> Any:
    x *= 0.5
    return self.a(x)


def turned(self: Any, x: Tensor) -> Any:
    return self.a(x.t_().t())


def without_negatives(self: Any, x: Tensor) -> Any:
    return self.a(x.relu_())


def scaled_copy(self: Any, x: Tensor) -> Any:
    return scaled(self, 1 * x)


@pytest.mark.parametrize(
    ("forward", "severity"),
    [
        pytest.param(scaled, "critical", id="each-pass-scales-again"),
        pytest.param(turned, "critical", id="another-shape"),
        pytest.param(without_negatives, "warning", id="the-next-output-is-the-same"),
        pytest.param(scaled_copy, "", id="only-a-copy"),
    ],
)
def test_a_pass_that_changes_its_input(forward: Callable[..., object], severity: str) -> None:
    result = examined(Made(forward, a=nn.Linear(8, 3)))
    changed = "the forward pass changes its input" in result.message
    assert changed == (result.outcome == "failed") == bool(severity)
    assert result.severity == (severity or "critical")


def test_random_numbers_that_torch_does_not_draw() -> None:
    result = examined(Made(lambda self, x: self.a(x) * random.random(), a=nn.Linear(8, 3)))
    assert result.outcome == "failed"
    assert "two passes differ by" in result.message


def test_rounding_errors_do_not_count() -> None:
    model = Made(lambda self, x: self.a(x) + 1e-7 * torch.rand(1), a=nn.Linear(8, 3))
    assert examined(model).outcome == "passed"


def test_a_model_that_cannot_be_copied_keeps_no_hooks() -> None:
    model = Made(lambda self, x: F.dropout(self.a(x)), a=nn.Linear(8, 3))
    model.c = torch.ones(1, requires_grad=True) * 2  # which torch does not copy
    assert examined(model).outcome != "skipped"
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


class Fading(nn.Module):
    """Untrained statistics let the signal fade, so that only the bias of the head is left."""

    def __init__(self) -> None:
        super().__init__()
        blocks = [nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)) for _ in range(8)]
        for block in blocks:
            nn.init.normal_(block[0].weight, std=0.08)  # type: ignore[arg-type]
            nn.init.zeros_(block[0].bias)  # type: ignore[arg-type]
        self.body, self.head = nn.Sequential(*blocks), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        return self.head(F.dropout(self.body(x)))


def test_dropout_is_also_found_behind_statistics_that_are_not_trained() -> None:
    torch.manual_seed(0)
    result = examined(Fading(), torch.randn(16, 8))
    assert result.outcome == "failed"
    assert "dropout" in result.message
