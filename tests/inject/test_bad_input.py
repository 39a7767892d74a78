"""Invalid arguments get one clear sentence, and nothing is touched."""

from math import nan
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim import SGD

from sickbay import UsageError, inject
from sickbay.inject.fault_text import FAULTS
from tests.inject.loops import hooks_of
from tests.models import mlp

STEPS = "at must be a whole number of at least 0, got"
NUMBER = "factor must be a finite number"


class Untold:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("scale_gradients", {"factor": "a"}, "factor must be a number, got 'a'."),
        ("scale_gradients", {"factor": 2, "at": -1}, f"{STEPS} -1."),
        ("scale_gradients", {"factor": 2, "layers": []}, "got no layers: []."),
        ("scale_gradients", {"factor": 10**400}, "factor must be a number, got 1000"),
        ("scale_gradients", {"factor": 2, "layers": 3}, "layers must be a list of names, got 3."),
        ("scale_gradients", {"factor": 2, "layers": [["0"]]}, "layers must be a list of names"),
        ("nan_gradient", {"layer": ("0", None)}, "layers must be a list of names, got one with No"),
        ("freeze_layer", {"layer": ["0", Untold()]}, "got one with a Untold."),
        (
            "dead_layer",
            {"layer": Untold()},
            "There is no layer with a weight of its own 'a",
        ),
        ("nan_weight", {"value": 10**400}, "value must be nan, inf or -inf, got 1000"),
        ("nan_batch", {"at": Untold()}, f"{STEPS} a Untold."),
        ("nan_batch", {"at": b"12"}, f"{STEPS} b'12'."),
        ("scale_inputs", {"factor": nan}, f"{NUMBER}, got nan."),
        ("raise_learning_rate", {"factor": 0}, f"{NUMBER} above 0, got 0."),
        ("raise_learning_rate", {"factor": 2, "optimizer": 3}, "torch.optim.Optimizer, got int."),
        ("nan_gradient", {"at": []}, "at must be a step or several, counted from 0, got []."),
        ("nan_gradient", {"model": 3}, "model must be a torch.nn.Module, got int."),
        ("nan_gradient", {"optimizer": 3}, "optimizer must be a torch.optim.Optimizer, got int."),
        ("nan_gradient", {"model": mlp()}, "got SGD with 8 parameters, none of them of the Sequ"),
        ("nan_batch", {"at": True}, f"{STEPS} True."),
        ("nan_batch", {"at": "12"}, f"{STEPS} '12'."),
        ("nan_weight", {"every": 0}, "every must be a whole number of at least 1, got 0."),
        ("nan_weight", {"value": 3.0}, "value must be nan, inf or -inf, got 3.0."),
        ("freeze_layer", {"layer": "2", "at": 1.5}, f"{STEPS} 1.5."),
        ("freeze_layer", {"layer": "9"}, "There is no layer with trainable parameters '9'."),
        ("freeze_layer", {"layer": "1"}, "Possible: '', '0', '2', '4', '6'."),
        ("dead_layer", {"layer": "3"}, "There is no layer with a weight of its own '3'."),
    ],
)
def test_wrong_arguments(name: str, options: dict[str, Any], expected: str) -> None:
    model = mlp()
    used = SGD(model.parameters(), lr=0.1)
    given: dict[str, Any] = {"model": model, "optimizer": used, "at": 1, **options}
    if name == "raise_learning_rate":
        del given["model"]
    with pytest.raises(UsageError) as error:
        FAULTS[name](**given)
    assert expected in str(error.value)
    assert hooks_of(model, used) == 0


@pytest.mark.parametrize(
    ("batch", "expected"), [(torch.ones(2), "got Tensor."), ((torch.ones(2), 3), "got int.")]
)
def test_batches_without_labels(batch: Any, expected: str) -> None:
    with pytest.raises(UsageError) as error:
        list(inject.shuffle_labels([batch], at=0))
    assert expected in str(error.value)


def test_shuffling_from_a_negative_step() -> None:
    with pytest.raises(UsageError, match=rf"{STEPS} -2\."):
        inject.shuffle_labels([], at=-2)


def test_a_model_without_trainable_parameters_is_refused() -> None:
    model = mlp().requires_grad_(False)
    with pytest.raises(UsageError, match=r"trainable parameters .*, got none in the model"):
        inject.nan_gradient(model, SGD(model.parameters(), lr=0.1), at=0)


def test_a_fault_that_cannot_be_put_in_leaves_no_hooks() -> None:
    model = mlp()
    used = SGD(model.parameters(), lr=0.1)
    fault = inject.nan_gradient(model, used, at=0)
    model[4].requires_grad_(False)  # type: ignore[index]
    with pytest.raises(RuntimeError, match="doesn't require gradient"), fault:
        pass
    assert hooks_of(model, used) == 0


@pytest.mark.parametrize(
    ("batches", "options", "expected"),
    [
        (3, {}, "batches must be an iterable of batches, got 3."),
        (torch.tensor(3), {}, "batches must be an iterable of batches"),
        ({"a": 1}, {}, "batches must be an iterable of batches"),
        ([], {"seed": None}, "seed must be a whole number of at least 0"),
        ([], {"seed": 10**30}, "seed must be a whole number of at least 0"),
        ([(torch.ones(2), torch.ones(2).to_sparse())], {}, "last item is a tensor of labels"),
    ],
)
def test_labels_that_cannot_be_shuffled(
    batches: Any, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(UsageError) as error:
        list(inject.shuffle_labels(batches, at=0, **options))
    assert expected in str(error.value)


def test_steps_and_seeds_may_be_numpy_integers() -> None:
    batch, options = (torch.ones(9), torch.arange(9)), {"at": np.int64(1), "seed": np.int64(3)}
    shuffled: Any = inject.shuffle_labels([batch] * 2, **options)  # type: ignore[arg-type]
    assert [y.tolist() == list(range(9)) for _, y in shuffled] == [True, False]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"name": "odd"}, "There is no fault 'odd'"),
        ({"at": 3}, "at must be a tuple of steps, got 3."),
        ({"layer": 3}, "layer must be a string, got 3."),
        ({"factor": 2.0}, "nan_gradient takes no *FACTOR"),
        ({"value": 3.0}, "value must be nan, inf or -inf, got 3.0."),
    ],
)
def test_invalid_fields_of_a_fault(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as error:
        inject.Fault(**{"name": "nan_gradient", "at": (1,), **options})
    assert expected in str(error.value)
