from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.modes.modes_differ import ModesDiffer
from tests.checkups.function_models import Made, cnn, images, inputs, mlp


def examined(model: nn.Module, batch: Any = None) -> Result:
    return checkup(model, inputs() if batch is None else batch, tests=ModesDiffer()).results[0]


class Kept(nn.Sequential):
    """Layers that stay in one mode."""

    def __init__(self, mode: bool, *layers: nn.Module) -> None:
        super().__init__(*layers)
        self.mode = mode

    def train(self, _: bool = True) -> "Kept":
        return super().train(self.mode)


class Silent(nn.Sequential):
    """One whose own version returns nothing."""

    def train(self, mode: bool = True) -> Any:
        super().train(mode)


def with_dropout() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 3))


def lora() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.base(x) + self.b(self.drop(self.a(x)))

    made = Made(forward, base=nn.Linear(8, 3), a=nn.Linear(8, 2), drop=nn.Dropout(0.1))
    made.b = nn.Linear(2, 3)
    nn.init.zeros_(made.b.weight)
    return made


def log_of_a_small_parameter() -> nn.Module:
    """A model whose output becomes NaN if the parameter turns negative."""
    return Made(
        lambda self, x: self.drop(x) + self.sigma.log().sum(),
        drop=nn.Dropout(0.5),
        sigma=nn.Parameter(torch.full((8,), 1e-3)),
    )


def behind_a_frozen_gate() -> nn.Module:
    gate = nn.Parameter(torch.zeros(1), requires_grad=False)
    return Made(
        lambda self, x: self.a(x) + self.gate * self.drop(x).sum(1, keepdim=True),
        a=nn.Linear(8, 3),
        drop=nn.Dropout(0.5),
        gate=gate,
    )


def second_output() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return self.a(x), self.b(self.drop(x))

    return Made(forward, a=nn.Linear(8, 3), b=nn.Linear(8, 3), drop=nn.Dropout(0.5))


def forced() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        self.drop.eval()
        return self.a(self.drop(x))

    return Made(forward, a=nn.Linear(8, 3), drop=nn.Dropout(0.5))


class Forgetful(nn.Sequential):
    """One whose own version forgets what it is made of."""

    def eval(self) -> Any:
        self.training = False
        return self


def test_an_overridden_eval_that_forgets_the_layers() -> None:
    result = examined(Forgetful(*with_dropout()))
    assert (result.outcome, result.layers) == ("failed", ("1",))
    assert "stays in training mode" in result.message


def test_an_unregistered_layer() -> None:
    def forward(self: Any, x: Tensor) -> Any:
        return self.a(self.drops[0](x))

    made = Made(forward, a=nn.Linear(8, 3))
    vars(made)["drops"] = [nn.Dropout(0.5)]
    result = examined(made)
    assert (result.outcome, result.layers) == ("failed", ("drops[0]",))
    assert "stays in training mode" in result.message


def test_a_layer_that_is_put_into_evaluation_while_it_runs() -> None:
    result = examined(forced())
    assert (result.outcome, result.layers) == ("failed", ("drop",))
    assert "during a forward pass in training" in result.message


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(with_dropout, None, id="dropout"),
        pytest.param(cnn, images(), id="batch-norm"),
        pytest.param(lambda: nn.LSTM(8, 4, 2, dropout=0.5), None, id="lstm"),
        pytest.param(lambda: nn.TransformerEncoderLayer(8, 2, 16), None, id="transformer"),
        pytest.param(lora, None, id="dropout-behind-a-zero-layer"),
        pytest.param(log_of_a_small_parameter, None, id="small-parameter"),
        pytest.param(behind_a_frozen_gate, None, id="dropout-behind-a-frozen-gate"),
        pytest.param(second_output, None, id="dropout-of-another-output"),
        pytest.param(
            lambda: nn.Sequential(nn.Dropout(0.005), nn.Linear(8, 3)), None, id="little-dropout"
        ),
        pytest.param(lambda: Silent(nn.Dropout(0.5), nn.Linear(8, 3)), None, id="returns-nothing"),
        pytest.param(
            lambda: nn.Sequential(Kept(False, cnn()[:6]).requires_grad_(False), *with_dropout()),
            images(),
            id="frozen-batch-norm",
        ),
        pytest.param(
            lambda: nn.Sequential(
                Kept(False, nn.Linear(8, 8), nn.Dropout()).requires_grad_(False), *with_dropout()
            ),
            None,
            id="frozen-dropout",
        ),
        pytest.param(
            lambda: nn.Sequential(*with_dropout()).eval(), None, id="given-in-evaluation-mode"
        ),
    ],
)
def test_passes(make: Callable[[], nn.Module], batch: Any) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "passed", result.message


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(mlp, id="mlp"),
        pytest.param(lambda: nn.Sequential(nn.Dropout(0.0), nn.Linear(8, 3)), id="no-dropout"),
        pytest.param(
            lambda: Made(lambda self, x: self.a(x), a=nn.Linear(8, 3), b=nn.Dropout()),
            id="not-run",
        ),
        pytest.param(lambda: nn.LSTM(8, 4), id="lstm"),
        pytest.param(
            lambda: nn.Sequential(
                Kept(False, nn.Linear(8, 8), nn.BatchNorm1d(8)).requires_grad_(False),
                nn.Linear(8, 3),
            ),
            id="all-frozen",
        ),
        pytest.param(
            lambda: Made(lambda self, x: F.dropout(x, training=self.training)), id="function"
        ),
    ],
)
def test_skips_what_does_not_apply(make: Callable[[], nn.Module]) -> None:
    assert examined(make()).outcome == "skipped"


class Undone(nn.Module):
    """Dropout whose result is thrown away."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.drop = nn.Linear(8, 3), nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Any:
        self.drop(x)
        return self.a(x)


@pytest.mark.parametrize(
    ("make", "batch", "part", "layer"),
    [
        pytest.param(
            lambda: Kept(False, *with_dropout()),
            None,
            "the model and 1 more stay in evaluation mode",
            "1",
            id="dropout-never-on",
        ),
        pytest.param(
            lambda: Kept(True, *with_dropout()), None, "stay in training mode", "1", id="always-on"
        ),
        pytest.param(
            lambda: nn.Sequential(Kept(False, *cnn())),
            images(),
            "stay in evaluation mode",
            "0.1",
            id="batch-norm-that-is-trained",
        ),
        pytest.param(
            lambda: nn.Sequential(Kept(True, *cnn()).requires_grad_(False), nn.Linear(3, 3)),
            images(),
            "stay in training mode",
            "0.1",
            id="frozen-but-in-training",
        ),
        pytest.param(Undone, None, "give the same output", "drop", id="thrown-away"),
    ],
)
def test_fails(make: Callable[[], nn.Module], batch: Any, part: str, layer: str) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "failed"
    assert part in result.message
    assert layer in result.layers


def test_a_model_that_cannot_be_copied_keeps_no_hooks() -> None:
    model = Made(lambda self, x: self.b(self.a(x)), a=nn.Linear(8, 3), b=nn.Dropout())
    model.c = torch.ones(1, requires_grad=True) * 2  # which torch does not copy
    assert examined(model).outcome != "skipped"
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())
