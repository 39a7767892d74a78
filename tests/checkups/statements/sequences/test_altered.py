"""Inputs that are changed for a test must differ from those given, whatever these are."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.samples_and_positions import altered
from tests.checkups.attention_models import TOKENS, WIDTH, encoder

DRAWN = torch.Generator().manual_seed(0)
ONE_OF_TWO = F.one_hot(torch.randint(2, (8, 17), generator=DRAWN), 2).float()


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(torch.zeros(3, 4), id="zeros"),
        pytest.param(torch.full((3, 4), 0.5), id="equal"),
        pytest.param(torch.zeros(3, 4, dtype=torch.long), id="token-zero"),
        pytest.param(torch.full((3, 4), 7), id="one-token"),
        pytest.param(torch.tensor([[0, 255], [3, 4]], dtype=torch.uint8), id="bytes"),
        pytest.param(torch.tensor([[True, True], [False, True]]), id="flags"),
        pytest.param(ONE_OF_TWO[0], id="one-hot-of-two"),
        pytest.param(torch.linspace(0, 1, 4).repeat(3, 1), id="ramp"),
        pytest.param(torch.tensor([[0.0, 1.0], [0.5, 0.5]]), id="row-in-the-middle"),
        pytest.param(torch.tensor([0.0, 0.5, 1.0]), id="a-number-for-each-sample"),
    ],
)
def test_each_row_differs(values: Tensor) -> None:
    new = altered(values)
    same = new == values
    assert new.dtype == values.dtype
    assert not (same.all(-1) if values.ndim > 1 else same).any()


def test_equal_tokens_stay_tokens() -> None:
    assert altered(torch.full((2,), 7)).tolist() == [6, 6]


class Centred(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        return self.layer(x - x.mean(0))


class Bidirectional(nn.Module):
    def __init__(self, first: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.first, self.body, self.head = first(), encoder(True), nn.Linear(WIDTH, 2)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.body(self.first(x)))


def test_a_batch_of_zeros_shows_that_samples_mix() -> None:
    [result] = checkup(Centred(), torch.zeros(8, 4), tests="samples_stay_apart").results
    assert result.outcome == "failed"


def test_a_future_that_is_one_of_two_values_is_seen() -> None:
    model, batch = (
        Bidirectional(lambda: nn.Linear(2, WIDTH)),
        (ONE_OF_TWO[:, :-1], ONE_OF_TWO[:, 1:]),
    )
    [result] = checkup(model, batch, nn.MSELoss(), tests="sees_no_future").results
    assert result.outcome == "failed"


def test_a_future_of_equal_tokens_is_seen() -> None:
    model = Bidirectional(lambda: nn.Embedding(TOKENS, WIDTH))
    batch = torch.zeros(4, 16, dtype=torch.long)
    [result] = checkup(model, batch, task="next_token", tests="sees_no_future").results
    assert result.outcome == "failed"
