"""What cannot train gets one clear sentence; what is only sick passes."""

import random
from collections.abc import Callable
from functools import partial
from math import nan
from threading import Lock
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from sickbay.model_arguments import check_model, check_optimizer
from sickbay.repairs.data import Data
from sickbay.repairs.preflight import check_fit, check_loss
from tests.repairs.datasets import refused

X, Y = torch.rand(100, 5, generator=torch.Generator().manual_seed(0)), torch.arange(100) % 4


class Sick(nn.Module):
    """A model that does what it is told, and draws random numbers on the way."""

    def __init__(self, width: int = 4, last: Callable[[Tensor], Any] = lambda x: x) -> None:
        super().__init__()
        self.norm, self.linear, self.last = nn.BatchNorm1d(5), nn.Linear(5, width), last

    def forward(self, x: Tensor) -> Any:
        torch.rand(1), np.random.rand(), random.random()
        return self.last(self.linear(self.norm(x)))


class Uncopied(nn.Linear):
    def __deepcopy__(self, memo: object) -> Any:
        raise TypeError("cannot be copied\nbecause of a lock.")


def trial(
    model: Any = None,
    data: Any = None,
    loss: Any = None,
    optimizer: Any = None,
    target: float | None = None,
) -> None:
    model = Sick() if model is None else model
    if optimizer is None and isinstance(model, nn.Module):
        parameters = list(model.parameters()) or [nn.Parameter(torch.zeros(1))]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
    given = data if isinstance(data, Data) else Data.of(data or (X, Y), batch_size=8)
    loss = loss or nn.CrossEntropyLoss()
    check_model(model, trainable=True)
    check_optimizer(optimizer, model)
    check_loss(loss)
    check_fit(model, given, loss, target)


OTHER = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
NOTHING = torch.optim.SGD([{"params": []}], lr=0.1)
NEGATIVE, LARGE = Y.clone(), Y.clone()
NEGATIVE[77], LARGE[77] = -1, 4

BAD_FITS: list[tuple[dict[str, Any], str]] = [
    ({"model": "mlp", "optimizer": OTHER}, "model must be a torch.nn.Module, got str."),
    ({"model": nn.ReLU()}, "model must have parameters that require a gradient, got none."),
    (
        {"model": Sick().requires_grad_(False)},
        "model must have parameters that require a gradient, got none.",
    ),
    ({"optimizer": "sgd"}, "optimizer must be a torch.optim.Optimizer, got str."),
    ({"optimizer": [OTHER]}, "optimizer must be a torch.optim.Optimizer, got list."),
    (
        {"optimizer": OTHER},
        "optimizer must hold parameters of the model, got SGD with 2 parameters, "
        "none of them of the Sick.",
    ),
    ({"optimizer": NOTHING}, "optimizer must hold parameters of the model, got SGD with none."),
    ({"loss": "mse"}, "loss must be a module or a function of outputs and labels, got 'mse'."),
    (
        {"loss": nn.CrossEntropyLoss},
        "loss must be a module or a function of outputs and labels, got the class "
        "CrossEntropyLoss; an object of it is CrossEntropyLoss().",
    ),
    (
        {"target": 95},
        "target must be at most 1, as an accuracy is, got 95; for 95 % give 0.95.",
    ),
    (
        {"target": 1.5, "model": Sick(1), "loss": nn.MSELoss(), "data": (X, X[:, :1])},
        "target must be at most 1, as a share of variance is, got 1.5; for 1.5 % give 0.015.",
    ),
    ({"target": 250.0}, "target must be at most 1, as an accuracy is, got 250."),
    (
        {"data": (X, NEGATIVE)},
        "labels must be from 0 to 3 for a model of 4 outputs, got -1.",
    ),
    (
        {"data": (X, LARGE)},
        "labels must be from 0 to 3 for a model of 4 outputs, got 4.",
    ),
    (
        {"data": (X, LARGE), "loss": functional.cross_entropy},
        "labels must be from 0 to 3 for a model of 4 outputs, got 4.",
    ),
    (
        {"data": Data.of((X, Y), (X, LARGE), batch_size=8)},
        "labels must be from 0 to 3 for a model of 4 outputs, got 4.",
    ),
    (
        {"data": (X, LARGE), "loss": lambda x, y: functional.cross_entropy(x, y)},
        "loss must fit the model and data, got <lambda> on outputs (9, 4) float32 "
        "and labels (9,) int64: Target 4 is out of bounds.",
    ),
    (
        {"data": (X[:, :3], Y)},
        "model must take the inputs of data, got Sick on (9, 3) float32: "
        "running_mean should contain 3 elements not 5.",
    ),
    (
        {"data": Data.of((X, Y), (X[:, :3], Y), batch_size=8)},
        "model must take the inputs of validation, got Sick on (9, 3) float32: "
        "running_mean should contain 3 elements not 5.",
    ),
    (
        {"data": (X, Y.float())},
        "loss must fit the model and data, got CrossEntropyLoss on outputs (9, 4) float32 "
        "and labels (9,) float32: expected target dtype to be Long or Byte, but got Float.",
    ),
    (
        {"model": Sick(10), "loss": nn.MSELoss()},
        "loss must fit the model and data, got MSELoss on outputs (9, 10) float32 and labels "
        "(9,) int64: The size of tensor a (10) must match the size of tensor b (9) at "
        "non-singleton dimension 1.",
    ),
    (
        {"model": Sick(9), "loss": nn.MSELoss()},  # as many as are tried
        "loss must fit the model and data, got MSELoss on outputs (8, 9) float32 and labels "
        "(8,) int64: The size of tensor a (9) must match the size of tensor b (8) at "
        "non-singleton dimension 1.",
    ),
    (
        {"model": Sick(1, torch.sigmoid), "data": (X, Y[:, None] % 2), "loss": nn.BCELoss()},
        "loss must fit the model and data, got BCELoss on outputs (9, 1) float32 "
        "and labels (9, 1) int64: Found dtype Long but expected Float.",
    ),
    (
        {"model": Sick(1), "data": (X, Y[:, None]), "loss": nn.HuberLoss()},  # no gradient of this
        "loss must fit the model and data, got HuberLoss on outputs (9, 1) float32 "
        "and labels (9, 1) int64: Found dtype Long but expected Float.",
    ),
    (
        {"loss": nn.CrossEntropyLoss(reduction="none")},
        "loss must return one number, a tensor, got a tensor of shape (9,).",
    ),
    (
        {"loss": lambda x, y: functional.cross_entropy(x, y).item()},
        "loss must return one number, a tensor, got a float.",
    ),
    (
        {"loss": lambda x, y: functional.cross_entropy(x, y), "model": Sick(4, lambda x: (x, x))},
        "loss must fit the model and data, got <lambda> on outputs (9, 4) float32, (9, 4) float32 "
        "and labels (9,) int64: cross_entropy_loss(): argument 'input' (position 1) must be "
        "Tensor, not tuple.",
    ),
    (
        {"model": Sick(4, lambda x: {"logits": x})},
        "loss must fit the model and data, got CrossEntropyLoss on outputs dict and labels (9,) "
        "int64: cross_entropy_loss(): argument 'input' (position 1) must be Tensor, not dict.",
    ),
    (
        {"model": Uncopied(5, 4)},
        "model must be one that can be copied, got Uncopied: because of a lock.",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), BAD_FITS, ids=lambda each: str(each)[:30])
def test_what_cannot_train(given: dict[str, Any], sentence: str) -> None:
    assert refused(lambda: trial(**given)) == sentence


def own_pair(outputs: Tensor, _: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, torch.arange(len(outputs)))


def test_outputs_for_pairs_of_samples_are_as_wide_as_the_batch() -> None:
    trial(model=Sick(4, lambda x: x @ x.T), loss=own_pair)


HALF_NAN = X.clone()
HALF_NAN[:60] = nan
PADDED = Y.clone()
PADDED[::3] = -100

SICK: dict[str, dict[str, Any]] = {
    "healthy": {},
    "softmax before cross-entropy": {"model": Sick(4, lambda x: x.softmax(1))},
    "NaN in some inputs": {"data": (HALF_NAN, Y)},
    "float labels for BCE": {
        "model": Sick(1),
        "data": (X, (Y[:, None] % 2).float()),
        "loss": nn.BCEWithLogitsLoss(),
    },
    "MSE on class numbers that are stretched": {"model": Sick(1), "loss": nn.MSELoss()},
    "ignored labels": {"data": (X, PADDED)},
    "other ignored labels": {"data": (X, NEGATIVE), "loss": nn.CrossEntropyLoss(ignore_index=-1)},
    "ignored labels of a function": {
        "data": (X, NEGATIVE),
        "loss": partial(functional.cross_entropy, ignore_index=-1),
    },
    "labels as shares": {"data": (X, functional.one_hot(Y).float())},
    "a loss of several outputs": {
        "model": Sick(4, lambda x: (x, x)),
        "loss": lambda x, y: functional.cross_entropy(x[0], y),
    },
    "a target of 1": {"target": 1.0},
    "a score without a limit": {
        "model": Sick(4, lambda x: (x, x)),
        "loss": lambda x, _: -x[0].square().mean(),
        "target": 95.0,
    },
    "a loss that is NaN": {"loss": lambda x, _: x.sum() * nan},
    "a loss of shape (1,)": {"loss": lambda x, _: x.sum()[None]},
    "one sample": {"data": (X[:1], Y[:1])},
    "a dataset": {"data": [(x, int(y)) for x, y in zip(X, Y, strict=True)]},
    "a loader": {"data": DataLoader(TensorDataset(X, Y), batch_size=4, worker_init_fn=print)},
}


@pytest.mark.parametrize("case", SICK)
def test_what_is_only_sick_passes(case: str) -> None:
    trial(**SICK[case])


def test_nothing_is_changed() -> None:
    model = Sick()
    model.norm.eval()
    seen: list[bool] = []
    model.register_forward_pre_hook(lambda module, _: seen.append(module.training))
    state = {name: value.clone() for name, value in model.state_dict().items()}
    before = torch.get_rng_state(), str(np.random.get_state()), random.getstate()
    weight = nn.Parameter(torch.ones(1))
    trial(
        model, loss=lambda x, y: functional.cross_entropy(x, y) * weight + model.linear.bias.sum()
    )
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (str(np.random.get_state()), random.getstate()) == before[1:]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert (model.training, model.norm.training) == (True, False)
    assert seen == [False, False]
    assert weight.grad is None
    assert model.linear.bias.grad is None


class Locked:
    """A loss that holds a lock, as one that logs does."""

    def __init__(self) -> None:
        self.lock = Lock()

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        with self.lock:
            return functional.cross_entropy(outputs, targets)


def test_a_loss_that_cannot_be_copied_is_refused() -> None:
    sentence = refused(lambda: trial(loss=Locked()))
    assert sentence.startswith("loss must be one that can be copied, got Locked: ")
