"""Promises that hold for every operation on every model."""

from __future__ import annotations

import copy
import io
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import sickbay
from sickbay import surgery
from sickbay.errors import Declined, SickbayError, UsageError
from tests.surgery.models import MODELS, mlp, outputs, vectors

OPERATIONS: dict[str, Callable[[nn.Module, Any], Any]] = {
    "replace_activations": lambda model, example: surgery.replace_activations(
        model, example, "elu"
    ),
    "insert_normalisation": surgery.insert_normalisation,
    "add_dropout": lambda model, example: surgery.add_dropout(model, example, 0.2),
    "replace_output": lambda model, example: surgery.replace_output(model, example, "softmax"),
    "remove_output": lambda model, example: surgery.replace_output(model, example, "linear"),
    "resize_output": lambda model, example: surgery.resize_output(model, example, 5, seed=0),
    "initialise": lambda model, _: surgery.initialise(model, "he_uniform", seed=0),
    "standardise_inputs": lambda model, _: surgery.standardise_inputs(
        model, torch.zeros(1), torch.ones(1)
    ),
    "scale_outputs": lambda model, example: surgery.scale_outputs(model, example, 5.0, 2.0),
    "insert_activations": surgery.insert_activations,
    "lower_dropout": surgery.lower_dropout,
    "widen_layers": lambda model, example: surgery.widen_layers(model, example, 24, seed=0),
    "output_activation": surgery.output_activation,
    "keep_positive": lambda model, example: surgery.keep_positive(model, example, [1]),
}
# What cannot be done, and all that cannot: anything else must work.
DECLINED = {
    ("twofold", "replace_output"): "one tensor, got a tuple",
    ("twofold", "remove_output"): "one tensor, got a tuple",
    ("twofold", "resize_output"): "one tensor",
    ("twofold", "output_activation"): "one tensor",
    ("unet", "resize_output"): "must come from a linear layer, got conv2d in 'last'",
    **{
        (name, "remove_output"): "linear already"
        for name in ("mlp", "in-place", "shared", "cnn", "unet", "gated", "lstm", "encoder", "gpt")
    },
    ("optional", "remove_output"): "linear already",
    ("twofold", "scale_outputs"): "one tensor of real numbers, got tuple",
    **{(name, "insert_activations"): "an activation between any two layers" for name in MODELS},
    **{
        (name, "lower_dropout"): "0 or less already"
        for name in MODELS
        if name not in ("plain", "encoder")
    },
    **{
        (name, "widen_layers"): "no hidden layer of less than 24 units"
        for name in ("in-place", "unet", "gated", "gpt", "twofold")
    },
    **{
        (name, "keep_positive"): "a table of 2 columns or more"
        for name in ("unet", "lstm", "twofold")
    },
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_not_touched_and_the_result_can_be_used(name: str, operation: str) -> None:
    torch.manual_seed(0)
    make, batch = MODELS[name]
    model, example = make(), batch()
    model.eval()
    text, state = repr(model), copy.deepcopy(model.state_dict())
    given = copy.deepcopy(example)
    random_before = torch.get_rng_state(), random.getstate(), _numpy_state()
    reason = DECLINED.get((name, operation))
    if reason is not None:
        with pytest.raises(Declined, match=reason):
            OPERATIONS[operation](model, example)
        result = None
    else:
        result = OPERATIONS[operation](model, example)
    assert torch.equal(torch.get_rng_state(), random_before[0])
    assert random.getstate() == random_before[1]
    assert _numpy_state() == random_before[2]
    assert repr(model) == text
    assert not any(module.training for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())
    after = model.state_dict()
    assert state.keys() == after.keys()
    assert all(torch.equal(state[key], after[key]) for key in state)
    assert all(map(torch.equal, given, example))
    if isinstance(result, nn.Module):
        assert not any(module.training for module in result.modules())
        _use(result, model, example)


def _numpy_state() -> str:
    return repr(np.random.get_state())


def _use(result: nn.Module, model: nn.Module, example: Any) -> None:
    """Train, copy and save what came out."""
    mine = {id(each) for each in model.parameters()}
    assert not any(id(each) in mine for each in result.parameters())
    before = outputs(result, example)
    for parameter in result.parameters():
        parameter.grad = None
    out = outputs(result, example, training=True)
    out.square().sum().backward()  # type: ignore[no-untyped-call]
    grads = [each.grad for each in result.parameters() if each.grad is not None]
    assert grads
    assert all(bool(torch.isfinite(grad).all()) for grad in grads)
    twins = [copy.deepcopy(result)]
    if "lambda" not in repr(vars(model)):
        file = io.BytesIO()
        torch.save(result, file)
        file.seek(0)
        twins.append(torch.load(file, weights_only=False))
    for training in (True, False):
        expected = outputs(copy.deepcopy(result), example, training=training)
        for twin in twins:
            alone = copy.deepcopy(twin)
            assert torch.equal(outputs(alone, example, training=training), expected)
            with torch.no_grad():
                for parameter in alone.parameters():
                    parameter.add_(0.1)
            assert not torch.equal(outputs(alone, example, training=training), expected)
    assert before.shape[0] == out.shape[0]


def test_the_public_names() -> None:
    public = {name for name in vars(surgery) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(surgery, name)).__name__ == "module"}
    assert public - modules == {
        "add_dropout", "draw_constant_weights", "initialise", "insert_activations",
        "insert_normalisation", "keep_positive", "lower_dropout", "output_activation",
        "register_modules", "replace_activations", "replace_output", "resize_output",
        "scale_outputs", "standardise_inputs", "widen_layers",
    }  # fmt: skip
    assert issubclass(Declined, SickbayError)
    assert not issubclass(Declined, UsageError)


class TestDeclined:
    def test_a_compiled_model(self) -> None:
        model: Any = torch.compile(mlp(), backend="eager")
        with pytest.raises(Declined, match="compiled"):
            surgery.replace_activations(model, vectors(), "relu")

    def test_a_scripted_model(self) -> None:
        model = mlp()
        object.__setattr__(model[2], "__class__", type("Fake", (torch.jit.ScriptModule,), {}))  # type: ignore[index]
        with pytest.raises(Declined, match="scripted"):
            surgery.output_activation(model, vectors())

    def test_a_lazy_model(self) -> None:
        model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.Linear(4, 2))
        with pytest.raises(Declined, match="'0' is lazy"):
            surgery.initialise(model, "he_normal", seed=0)

    def test_an_example_that_does_not_fit(self) -> None:
        with pytest.raises(Declined, match="cannot be run on the example"):
            surgery.insert_normalisation(mlp(), (torch.ones(2, 5),))
        with pytest.raises(UsageError, match=r"example must be a tuple .*, got Tensor"):
            surgery.insert_normalisation(mlp(), torch.ones(2, 6))  # type: ignore[arg-type]

    def test_a_model_that_only_takes_keywords(self) -> None:
        class Keywords(nn.Linear):
            def forward(self, *, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
                return super().forward(x)

        with pytest.raises(Declined, match="cannot be run on the example"):
            surgery.output_activation(Keywords(6, 3), vectors())

    def test_a_model_that_cannot_be_copied(self) -> None:
        model = mlp()
        model.lock = threading.Lock()  # type: ignore[assignment]
        with pytest.raises(Declined, match="cannot be copied"):
            surgery.initialise(model, "he_normal", seed=0)

    def test_not_a_model(self) -> None:
        with pytest.raises(UsageError, match=r"model must be a torch.nn.Module, got int"):
            surgery.initialise(3, "he_normal", seed=0)  # type: ignore[arg-type]


def test_a_model_that_writes_into_its_input() -> None:
    class Writing(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(super().forward(x.add_(1)))

    (x,) = vectors()
    before = x.clone()
    surgery.replace_output(Writing(6, 3), (x,), "linear")
    assert torch.equal(x, before)


def test_hooks_of_the_user_are_kept_but_not_called() -> None:
    calls: list[str] = []
    model = mlp()
    model.register_forward_hook(lambda *_: calls.append("forward"))
    model.register_forward_pre_hook(lambda *_: calls.append("before"))
    model.register_full_backward_hook(lambda *_: calls.append("backward"))
    result = surgery.replace_activations(model, vectors(), "relu")
    assert not calls
    result(*vectors())
    assert calls == ["before", "forward"]


def test_hooks_of_a_doctor_are_left_behind() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sickbay.watch(model, optimizer)
    assert any(module._forward_pre_hooks for module in model.modules())
    result = surgery.replace_activations(model, vectors(), "relu")
    assert not any(module._forward_pre_hooks for module in result.modules())
