"""Copies that use the same memory but share no state."""

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.reused_copies import ModelCopies
from tests.checkups.small_network import data, network


def values(model: nn.Module) -> list[object]:
    return [each.tolist() for each in model.state_dict().values()]


def test_what_was_done_to_a_copy_is_gone_in_the_next() -> None:
    model = network()
    copies = ModelCopies(model)
    for _ in range(2):
        with copies.take() as copied:
            assert values(copied) == values(model)
            assert all(each.grad is None for each in copied.parameters())
            assert all(each.requires_grad for each in copied.parameters())
            assert not any(each._backward_hooks for each in copied.parameters())
            weight = next(copied.parameters())
            weight.register_hook(torch.neg)  # type: ignore[no-untyped-call]
            copied(data()[0]).sum().backward()
            torch.optim.SGD(copied.parameters(), 1.0).step()
            weight.data.zero_()
            copied.requires_grad_(False)


@pytest.mark.parametrize("change", [nn.Module.double, nn.Module.half])
def test_weights_of_another_type_are_not_used_again(change: object) -> None:
    copies = ModelCopies(network())
    with copies.take() as copied:
        assert callable(change)
        change(copied)
    with copies.take() as copied:
        assert {each.dtype for each in copied.parameters()} == {torch.float32}


def test_copies_that_exist_at_once_are_separate() -> None:
    copies = ModelCopies(network())
    with copies.take() as one, copies.take() as other:
        nn.init.zeros_(next(one.parameters()))
        assert next(other.parameters()).any()


def test_tied_weights_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    copies = ModelCopies(model)
    for _ in range(2):
        with copies.take() as copied:
            assert len(list(copied.parameters())) == 3


def test_a_checkup_copies_the_weights_a_few_times_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Tensor] = []
    usual = nn.Parameter.__deepcopy__

    def counted(self: nn.Parameter, memo: dict[int, object]) -> object:
        made.append(self)
        return usual(self, memo)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(nn.Parameter, "__deepcopy__", counted)
    model = network()
    checkup(model, data(), nn.CrossEntropyLoss())
    assert len(made) <= 3 * len(list(model.parameters()))
