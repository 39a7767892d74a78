from math import inf, isnan, nan
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Optimizer

from sickbay import inject
from tests.inject.loops import STEPS, same, train


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"at": 0}, [0], id="first-step"),
        pytest.param({"at": [2, 5]}, [2, 5], id="list"),
        pytest.param({"at": 1, "every": 3}, [1, 4, 7], id="every"),
        pytest.param({"at": 5, "every": 2}, [5, 7], id="not-before-the-first"),
        pytest.param({"at": (1, 2), "every": 3}, [1, 2, 4, 7], id="list-and-every"),
    ],
)
@pytest.mark.parametrize("factor", [20.0, 1e-8])
def test_gradients_are_scaled_at_exactly_these_steps(
    options: dict[str, Any], expected: list[int], factor: float
) -> None:
    # With a learning rate of 0 each step has the gradients of the plain run.
    def still(*args: Any, **_: Any) -> Optimizer:
        return SGD(args[0], lr=0.0)

    plain = train(optimizer=still)
    scaled = train(
        lambda model, used: inject.scale_gradients(model, used, factor, **options), optimizer=still
    )
    for step in range(STEPS):
        times = factor if step in expected else 1.0
        for name, gradient in plain.gradients[step].items():
            assert torch.equal(scaled.gradients[step][name], gradient * times)


@pytest.mark.parametrize("layers", ["2", ["2", "4"]])
def test_only_the_named_layers_are_scaled(layers: str | list[str]) -> None:
    plain = train()
    scaled = train(lambda model, used: inject.scale_gradients(model, used, 20, at=3, layers=layers))
    for name, gradient in plain.gradients[3].items():
        times = 20 if name.partition(".")[0] in layers else 1
        assert torch.equal(scaled.gradients[3][name], gradient * times)


def test_with_several_batches_per_step_each_is_scaled_once() -> None:
    plain = train(batches=3)
    scaled = train(lambda model, used: inject.scale_gradients(model, used, 4, at=2), batches=3)
    assert same(plain, scaled, 2)
    for name, gradient in plain.gradients[2].items():
        assert torch.equal(scaled.gradients[2][name], 4 * gradient)  # exact: a power of two


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("batches", [1, 3])
def test_one_value_of_one_gradient_is_spoilt(value: float, batches: int) -> None:
    spoilt = train(
        lambda model, used: inject.nan_gradient(model, used, at=5, layer="2", value=value),
        batches=batches,
    )
    assert all(map(torch.isfinite, map(torch.tensor, spoilt.norms[:5])))
    bad = {
        name: gradient[~gradient.isfinite()].tolist()
        for name, gradient in spoilt.gradients[5].items()
        if not gradient.isfinite().all()
    }
    ((name, values),) = bad.items()
    assert name in ("2.weight", "2.bias")
    assert values == [value] or (len(values) == 1 and isnan(value) and isnan(values[0]))


def test_a_nan_in_a_sparse_gradient() -> None:
    words = nn.Embedding(5, 3, sparse=True)
    model = nn.Sequential(words, nn.Linear(3, 1))
    used = SGD(model.parameters(), lr=0.1)
    with inject.nan_gradient(model, used, at=0, layer="0"):
        model(torch.tensor([1, 2, 2])).sum().backward()
    gradient = words.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    assert int(gradient.to_dense().isnan().sum()) == 1


def test_a_frozen_layer_gets_a_gradient_of_exactly_zero_from_then_on() -> None:
    frozen = train(lambda model, used: inject.freeze_layer(model, used, layer="2", at=3), batches=2)
    for step, gradients in enumerate(frozen.gradients):
        for name, gradient in gradients.items():
            assert bool(gradient.any()) is (step < 3 or not name.startswith("2."))
