from math import inf
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from sickbay import UsageError, inject
from tests.inject.loops import EACH
from tests.models import Transformer, tokens


def test_a_nan_in_a_batch_comes_once_and_is_not_in_the_loop_s_tensor() -> None:
    model = nn.Linear(3, 1)
    used = SGD(model.parameters(), lr=0.0)
    x = torch.ones(4, 3)
    counts = []
    with inject.nan_batch(model, used, at=1) as fault:
        for _ in range(3):
            counts += [[int(model(x).isnan().sum()) for _ in range(2)]]  # two batches a step
            used.step()
    assert counts == [[0, 0], [1, 0], [0, 0]]
    assert fault.steps == [1]
    assert x.isfinite().all()


def test_inputs_in_nested_containers_are_found() -> None:
    class Pair(NamedTuple):
        number: Tensor
        place: Tensor

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, pair: Pair, *, more: dict[str, list[Tensor]], flag: bool) -> list[Tensor]:
            assert flag
            return [pair.number, pair.place, more["a"][0]]

    model = Odd()
    used = SGD(model.parameters(), lr=0.1)
    one, two = torch.ones(2), torch.tensor([1, 2])

    def call() -> list[list[float]]:
        return [each.tolist() for each in model(Pair(one, two), more={"a": [one + 1]}, flag=True)]

    with inject.scale_inputs(model, used, 10, at=0):
        assert call() == [[10, 10], [1, 2], [20, 20]]
    with inject.nan_batch(model, used, at=0, value=inf):
        assert call() == [[inf, 1], [1, 2], [2, 2]]
    assert call() == [[1, 1], [1, 2], [2, 2]]


def test_inputs_stay_scaled_in_training_passes_only() -> None:
    model = nn.Linear(2, 1, bias=False)
    used = SGD(model.parameters(), lr=0.0)
    x = torch.ones(1, 2)
    once = model(x).item()
    outputs = []
    with inject.scale_inputs(model, used, 10, at=1):
        for _ in range(3):
            model.eval()
            assert model(x).item() == once
            model.train()
            with torch.no_grad():
                assert model(x).item() == once
            outputs += [model(x).item(), model(x).item()]  # two batches a step
            used.step()
    assert outputs == pytest.approx([once] * 2 + [10 * once] * 4)


@pytest.mark.parametrize("name", ["nan_batch", "scale_inputs"])
def test_integer_inputs_are_refused_at_the_first_call(name: str) -> None:
    model = Transformer()
    used = SGD(model.parameters(), lr=0.1)
    with EACH[name](model, used, 500), pytest.raises(UsageError, match=r"got torch\.int64\."):
        model(tokens())
