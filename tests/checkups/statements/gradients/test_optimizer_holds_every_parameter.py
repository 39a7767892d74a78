import copy
import warnings
from collections.abc import Iterable

import pytest
import torch
from torch import nn
from torch.optim import SGD, Optimizer

from sickbay.checkups import Result, checkup
from sickbay.checkups.statements.gradients.optimizer_holds_every_parameter import (
    OptimizerHoldsEveryParameter,
)
from tests.checkups.function_models import mlp


def examined(model: nn.Module, optimizer: Optimizer | None) -> Result:
    tests = OptimizerHoldsEveryParameter()
    return checkup(model, optimizer=optimizer, tests=tests).results[0]


def sgd(held: Iterable[nn.Parameter]) -> SGD:
    return SGD(list(held), 0.1)


def test_all_parameters_are_held() -> None:
    model = mlp()
    result = examined(model, sgd(model.parameters()))
    assert (result.outcome, result.message) == ("passed", "it holds all 6 trainable parameters")


def test_frozen_parameters_are_named() -> None:
    model = mlp()
    model[0].requires_grad_(False)
    result = examined(model, sgd(each for each in model.parameters() if each.requires_grad))
    assert result.outcome == "passed"
    assert "it holds all 4 trainable parameters; 0.weight and 1 more of 6 are" in result.message


def test_tied_parameters_count_once() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    assert examined(model, sgd(model.parameters())).outcome == "passed"


def test_groups() -> None:
    model = mlp()
    groups = [{"params": list(each.parameters())} for each in (model[0], model[2], model[4])]
    assert examined(model, SGD(groups, 0.1)).outcome == "passed"


def test_the_optimizer_may_also_hold_parameters_of_a_loss() -> None:
    model = mlp()
    result = examined(model, sgd([*model.parameters(), nn.Parameter(torch.ones(1))]))
    assert result.outcome == "passed"
    assert "it also holds 1 other tensor" in result.message


def test_a_layer_that_was_forgotten() -> None:
    model = mlp()
    result = examined(model, sgd([*model[0].parameters(), *model[4].parameters()]))
    assert result.outcome == "failed"
    assert result.message == "2.weight and 1 more of 6 are not in the optimizer"
    assert result.layers == ("2.weight", "2.bias")


def test_a_layer_that_was_changed_later() -> None:
    model = mlp()
    optimizer = sgd(model.parameters())
    model[4] = nn.Linear(16, 5)
    result = examined(model, optimizer)
    assert result.outcome == "failed"
    assert result.layers == ("4.weight", "4.bias")


def test_an_optimizer_of_a_copy_fails() -> None:
    model = mlp()
    result = examined(copy.deepcopy(model), sgd(model.parameters()))
    assert result.outcome == "failed"
    assert "which holds 6 tensors of another model" in result.message


def test_a_parameter_held_twice_fails() -> None:
    model = mlp()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = sgd([*model.parameters(), *model[0].parameters()])
    result = examined(model, optimizer)
    assert result.outcome == "failed"
    assert "0.weight and 1 more of 6 are in the optimizer more than once" in result.message


@pytest.mark.parametrize("given", [True, False])
def test_skips_what_does_not_apply(given: bool) -> None:
    model = mlp().requires_grad_(False) if given else mlp()
    result = examined(model, sgd(model.parameters()) if given else None)
    assert result.outcome == "skipped"
