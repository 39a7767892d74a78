from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.limits.survives_saving import SurvivesSaving
from sickbay.checkups.unregistered import random_constants
from tests.checkups.function_models import (
    Made,
    Recurrent,
    Transformer,
    cnn,
    images,
    inputs,
    mlp,
    sentences,
)


def examined(model: nn.Module, batch: Any = None) -> Result:
    return checkup(model, inputs() if batch is None else batch, tests=SurvivesSaving()).results[0]


def tied() -> nn.Module:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].weight = model[0].weight
    return model


def with_constants() -> nn.Module:
    model = Made(lambda self, x: self.a(x + self.b) + self.c, a=nn.Linear(8, 3))
    model.b = torch.arange(8.0)
    model.register_buffer("c", torch.ones(3), persistent=False)
    return model


def sampling() -> nn.Module:
    return Made(lambda self, x: self.a(x) + torch.randn(3), a=nn.Linear(8, 3))


def teacher() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        return (self.a(x), self.teacher[0](x)) if self.training else self.a(x)

    return Made(forward, a=nn.Linear(8, 3), teacher=[nn.Linear(8, 3)])


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        pytest.param(mlp, None, id="mlp"),
        pytest.param(cnn, images(), id="batch-norm"),
        pytest.param(Recurrent, sentences(), id="lstm"),
        pytest.param(Transformer, sentences(), id="transformer"),
        pytest.param(tied, None, id="tied"),
        pytest.param(with_constants, None, id="constants"),
        pytest.param(sampling, None, id="sampling"),
        pytest.param(teacher, None, id="teacher-for-training"),
        pytest.param(lambda: parametrizations.weight_norm(nn.Linear(8, 3)), None, id="weight-norm"),
        pytest.param(
            lambda: parametrizations.spectral_norm(nn.Linear(8, 3)), None, id="spectral-norm"
        ),
    ],
)
def test_passes(make: Callable[[], nn.Module], batch: Any) -> None:
    torch.manual_seed(0)
    result = examined(make(), batch)
    assert result.outcome == "passed", result.message


def remembering() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        self.state = self.a(x).detach() + self.state
        return self.state

    return Made(forward, a=nn.Linear(8, 3), state=torch.zeros(1))


def test_skips_a_model_that_keeps_a_state() -> None:
    assert examined(remembering()).outcome == "skipped"


def centred() -> nn.Module:
    def forward(self: Any, x: Tensor) -> Any:
        if self.training:
            self.middle = 0.9 * self.middle + 0.1 * (1 + x.mean(0))
        return self.a(x - self.middle)

    return Made(forward, a=nn.Linear(8, 3), middle=torch.zeros(8))


def test_what_training_changes_must_be_saved() -> None:
    result = examined(centred())
    assert result.outcome == "failed"
    assert "what a pass in training changes" in result.message


class Forgetful(nn.Linear):
    """A layer that does not save its bias."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        state = super().state_dict(*args, **kwargs)
        return {name: each for name, each in state.items() if "bias" not in name}


class Careless(Forgetful):
    """One that does not miss it either."""

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = False, assign: bool = False
    ) -> Any:
        return super().load_state_dict(state_dict, strict, assign)


def log_of_a_small_parameter() -> nn.Module:
    """A model whose output becomes NaN if the parameter turns negative."""
    return Made(
        lambda self, x: self.layers[0](x) + self.sigma.log().sum(),
        layers=[nn.Linear(8, 3)],
        sigma=nn.Parameter(torch.full((8,), 1e-3)),
    )


def behind_a_zero_head() -> nn.Module:
    head = nn.Linear(8, 3)
    nn.init.zeros_(head.weight)
    layers = [nn.Linear(8, 8)]
    return Made(lambda self, x: self.a(self.layers[0](x)), a=head, layers=layers)


@pytest.mark.parametrize(
    ("make", "part", "layers"),
    [
        pytest.param(
            lambda: Made(
                lambda self, x: self.a(self.layers[0](x)),
                a=nn.Linear(8, 3),
                layers=[nn.Linear(8, 8)],
            ),
            "layers[0].weight and 1 more are not in the state dict",
            ("layers[0].weight", "layers[0].bias"),
            id="list",
        ),
        pytest.param(behind_a_zero_head, "layers[0].weight", None, id="list-behind-a-zero-head"),
        pytest.param(log_of_a_small_parameter, "layers[0].weight", None, id="small-parameter"),
        pytest.param(
            lambda: Made(
                lambda self, x: self.a(x) * self.by,
                a=nn.Linear(8, 3),
                by=torch.ones(3, requires_grad=True),
            ),
            "by is not in the state dict",
            ("by",),
            id="plain-tensor",
        ),
        pytest.param(lambda: Careless(8, 3), "bias is not in", ("bias",), id="left-out"),
        pytest.param(lambda: Forgetful(8, 3), "load_state_dict raised", (), id="raises"),
    ],
)
def test_fails(make: Callable[[], nn.Module], part: str, layers: tuple[str, ...] | None) -> None:
    torch.manual_seed(0)
    result = examined(make())
    assert result.outcome == "failed"
    assert part in result.message
    assert layers is None or result.layers == layers


def test_a_model_that_cannot_be_copied_is_restored() -> None:
    model = Made(lambda self, x: self.a(self.b[0](x)), a=nn.Linear(8, 3), b=[nn.Linear(8, 8)])
    model.c = torch.ones(1, requires_grad=True) * 2  # which torch does not copy
    values = [each.detach().clone() for each in (model.a.weight, model.b[0].weight)]
    assert examined(model).outcome == "failed"
    assert all(map(torch.equal, values, (model.a.weight, model.b[0].weight)))


class Projected(nn.Module):
    """Multiplies by a matrix that it keeps in a plain attribute, or as a buffer."""

    def __init__(self, matrix: Tensor, *, registered: bool) -> None:
        super().__init__()
        if registered:
            self.register_buffer("matrix", matrix)
        else:
            self.matrix = matrix
        self.head = nn.Linear(matrix.shape[1], 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head((x @ self.matrix).cos())
        return out


def test_a_random_matrix_in_a_plain_attribute_is_not_saved() -> None:
    torch.manual_seed(0)
    matrix, x = torch.randn(8, 64), torch.randn(8, 8)
    model = Projected(matrix, registered=False)
    before = matrix.clone()
    [result] = checkup(model, x, tests=SurvivesSaving()).results
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert result.message == "matrix looks random and is not saved"
    assert matrix.equal(before)
    buffered = Projected(matrix, registered=True)
    buffered.register_buffer("matrix", matrix, persistent=False)
    [result] = checkup(buffered, x, tests=SurvivesSaving()).results
    assert (result.outcome, result.severity) == ("failed", "warning")


def test_registered_and_computed_matrices_are_right() -> None:
    torch.manual_seed(0)
    x, places = torch.randn(8, 8), torch.arange(8.0)[:, None] / torch.arange(1.0, 65.0)
    for model in (
        Projected(torch.randn(8, 64), registered=True),
        Projected(places.sin(), registered=False),
    ):
        [result] = checkup(model, x, tests=SurvivesSaving()).results
        assert result.outcome == "passed", result.message


def test_the_list_of_weights_of_a_frozen_recurrent_layer_is_no_constant() -> None:
    torch.manual_seed(0)
    assert not random_constants(nn.RNN(16, 32).requires_grad_(False))


def test_trained_values_count_more_than_random_ones() -> None:
    torch.manual_seed(0)
    model = Made(lambda self, x: self.a((x @ self.drawn).cos()) * self.by, a=nn.Linear(64, 3))
    model.drawn, model.by = torch.randn(8, 64), torch.ones(3, requires_grad=True)
    result = examined(model)
    assert (result.outcome, result.severity) == ("failed", "critical")
    assert result.layers == ("by",)


class Keyed(nn.Linear):
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        self.scale = state_dict["scale"]
        return super().load_state_dict(state_dict, strict, assign)


def test_a_state_that_cannot_be_loaded_fails_whatever_is_raised() -> None:
    result = examined(Keyed(8, 3))
    assert (result.outcome, result.message) == ("failed", "load_state_dict raised: 'scale'")
