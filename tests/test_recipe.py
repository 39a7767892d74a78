from dataclasses import replace

import pytest
import torch
from torch import nn

import sickbay
from sickbay.optimizers import optimizer_code, optimizer_for
from sickbay.recipe import Recipe


def recipe(**more: float) -> Recipe:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    groups = [
        {"params": list(model[0].parameters()), "lr": 0.1},
        {"params": list(model[2].parameters()), "lr": 0.2},
    ]
    return Recipe(model, nn.MSELoss(), torch.optim.SGD(groups, momentum=0.9), **more)  # type: ignore[arg-type]


def held(made: Recipe) -> list[list[int]]:
    return [[id(each) for each in group["params"]] for group in made.optimizer.param_groups]


def test_a_copy_shares_nothing_and_belongs_together() -> None:
    first = recipe()
    second = first.copy()
    own = {id(each) for each in second.model.parameters()}
    assert own.isdisjoint(id(each) for each in first.model.parameters())
    assert {each for group in held(second) for each in group} == own


def test_another_rate_keeps_the_proportion_of_groups() -> None:
    made = recipe().with_lr(1.0)
    assert [group["lr"] for group in made.optimizer.param_groups] == [1.0, 2.0]
    assert made.lr == 1.0
    assert made.optimizer.param_groups[0]["momentum"] == 0.9


def test_a_rate_of_nothing_becomes_the_new_one() -> None:
    zero = recipe().with_lr(0.0)
    assert [group["lr"] for group in zero.with_lr(0.5).optimizer.param_groups] == [0.5, 0.5]


def test_another_model_gets_the_same_groups() -> None:
    first = recipe()
    other = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    made = first.with_model(other, "model = other")
    names = {id(each): name for name, each in other.named_parameters()}
    assert [[names[each] for each in group] for group in held(made)] == [
        ["0.weight", "0.bias"],
        ["2.weight", "2.bias"],
    ]
    assert made.code == ("model = other",)


def test_new_parameters_join_the_first_group_and_left_out_ones_stay_out() -> None:
    first = recipe()
    part = torch.optim.SGD(first.model[0].parameters(), lr=0.1)  # type: ignore[index]
    wider = nn.Sequential(nn.Linear(2, 3), nn.PReLU(), nn.Linear(3, 1))
    optimizer = optimizer_for(wider, first.model, part)
    assert len(optimizer.param_groups[0]["params"]) == 3
    everything = optimizer_for(wider, first.model, part, all_=True)
    assert len(everything.param_groups[0]["params"]) == 5


def test_a_wrapped_model_keeps_its_groups() -> None:
    class Wrapped(nn.Module):
        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self.model = model

    first = recipe()
    made = first.with_model(Wrapped(first.copy().model))
    assert [len(group) for group in held(made)] == [2, 2]


def test_frozen_parameters_are_not_held() -> None:
    first = recipe()
    other = first.copy().model
    other[0].requires_grad_(False)  # type: ignore[index]
    assert [len(group) for group in held(first.with_model(other))] == [2]


def test_the_difference_reads_as_code() -> None:
    first = recipe()
    second = replace(first.with_lr(0.01), clip_norm=1.0, batch_size=64)
    assert first.diff(second).splitlines() == [
        "- optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
        "+ optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)",
        "- batch_size = 32",
        "+ batch_size = 64",
        "+ clip_norm = 1.0  # clip_grad_norm_(model.parameters(), clip_norm) after backward()",
    ]
    assert first.diff(first.copy()) == "no change"


def test_only_what_is_not_usual_is_said() -> None:
    adam = torch.optim.Adam(nn.Linear(1, 1).parameters(), weight_decay=0.1)
    assert (
        optimizer_code(adam) == "torch.optim.Adam(model.parameters(), lr=0.001, weight_decay=0.1)"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": 3}, "model must be a torch.nn.Module, got int."),
        ({"loss": 3}, "loss must be a module or a function, got 3."),
        ({"optimizer": "adam"}, "optimizer must be a torch.optim.Optimizer, got str."),
    ],
)
def test_bad_input(changes: dict[str, object], message: str) -> None:
    with pytest.raises(sickbay.UsageError) as error:
        replace(recipe(), **changes)  # type: ignore[arg-type]
    assert str(error.value) == message
