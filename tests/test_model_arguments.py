"""Checks of models and optimizers."""

from typing import Any

import pytest
import torch
from torch import nn

from sickbay.errors import UsageError
from sickbay.model_arguments import check_model, check_optimizer, unwrap_compiled

META, FROZEN = nn.Linear(1, 1, device="meta"), nn.Linear(1, 1).requires_grad_(False)


@pytest.mark.parametrize(
    ("model", "rules", "said"),
    [
        pytest.param(3, {}, "a torch.nn.Module, got int.", id="no-module"),
        pytest.param(nn.ReLU, {}, "got the class ReLU; pass an instance.", id="a-class"),
        pytest.param(META, {}, "got 'weight' on the meta device.", id="meta"),
        pytest.param(FROZEN, {"trainable": True}, "require a gradient, got none.", id="frozen"),
        pytest.param(nn.LazyLinear(1), {"lazy": False}, "got a lazy 'weight'", id="lazy"),
    ],
)
def test_models_that_cannot_be_used(model: object, rules: dict[str, bool], said: str) -> None:
    with pytest.raises(UsageError) as error:
        check_model(model, **rules)
    assert said in str(error.value)


@pytest.mark.parametrize("model", [FROZEN, nn.LazyLinear(1), nn.ReLU()])
def test_models_pass_unless_the_caller_asks_for_more(model: nn.Module) -> None:
    assert check_model(model) is model


def test_optimizers() -> None:
    model, empty = nn.Linear(1, 1), torch.optim.SGD([torch.ones(1)], lr=0.1)
    empty.param_groups[0]["params"] = []
    own = torch.optim.SGD(model.parameters(), lr=0.1)
    assert check_optimizer(own, model) is check_optimizer(own) is own
    for optimizer, said in [
        ([own], "optimizer must be this, got list."),
        (empty, "optimizer must hold parameters of the model, got SGD with none."),
        (
            torch.optim.SGD(FROZEN.parameters()),
            "got SGD with 2 parameters, none of them of the Linear.",
        ),
    ]:
        with pytest.raises(UsageError) as error:
            check_optimizer(optimizer, model, "this")
        assert said in str(error.value)


def test_the_compiler_is_taken_off() -> None:
    model = nn.Linear(1, 1)
    compiled: Any = torch.compile(model, backend="eager")
    assert unwrap_compiled(compiled) is unwrap_compiled(model) is model
