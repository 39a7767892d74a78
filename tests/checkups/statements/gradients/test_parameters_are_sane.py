from collections.abc import Callable
from math import nan
from typing import Any

import pytest
import torch
from torch import nn

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.gradients.parameters_are_sane import ParametersAreSane
from tests.checkups.function_models import (
    Recurrent,
    Transformer,
    cnn,
    data,
    images,
    inputs,
    mlp,
    sentences,
)
from tests.checkups.statements.gradients.initial_weights import (
    averages,
    changed,
    codebook,
    depthwise,
    equalised,
    gated,
    in_kaimings_other_mode,
    lora,
    own_linear,
    same_units,
    scaled_by,
    spectral,
    tied,
    wide,
)


def examined(model: nn.Module, batch: Any = None) -> Result:
    batch = data() if batch is None else batch
    return checkup(model, batch, tests=ParametersAreSane()).results[0]


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
        pytest.param(gated, None, id="tiny-gates-before-a-zero-head"),
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
            "(limit 10, usually 0.1 to 2)",
            "2.weight",
            id="mlp-large",
        ),
        pytest.param(
            lambda: changed(cnn(), lambda each: each.mul_(100), "3.weight"),
            images(),
            "(limit 10,",
            "3.weight",
            id="cnn-large",
        ),
        pytest.param(
            lambda: changed(Recurrent(), lambda each: each.mul_(100), "rnn.weight_hh_l1"),
            sentences(),
            "(limit 10,",
            "rnn.weight_hh_l1",
            id="lstm-large",
        ),
        pytest.param(
            lambda: changed(Transformer(), lambda each: each.mul_(100), "tokens.weight"),
            sentences(),
            "(limit 10,",
            "tokens.weight",
            id="embedding-large",
        ),
        pytest.param(
            lambda: own_linear(100 * torch.randn(8, 8)), None, "(limit 10,", "by", id="own-large"
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
