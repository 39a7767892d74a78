from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import Result, checkup

LENGTHS = torch.tensor([9, 4, 6, 9, 3, 5, 9, 7])
TOKENS = torch.randint(1, 20, (8, 9), generator=torch.Generator().manual_seed(0))
PADDED = TOKENS * (torch.arange(9) < LENGTHS[:, None])


class Words(nn.Module):
    def __init__(self, pool: Callable[[Tensor, Tensor], Tensor], padding: int | None = 0) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(20, 16, padding_idx=padding), nn.Linear(16, 3)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.pool(self.tokens(x), x))
        return out


def masked(values: Tensor, tokens: Tensor) -> Tensor:
    kept = (tokens != 0).float()[..., None]
    return (values * kept).sum(1) / kept.sum(1)


def normed(values: Tensor, tokens: Tensor) -> Tensor:
    return masked(values - values.mean(-1, keepdim=True), tokens)


def examined(model: nn.Module, batch: Any) -> Result:
    return checkup(model, batch, tests="means_leave_out_padding").results[0]


def test_a_mean_over_padding_is_found() -> None:
    result = examined(Words(lambda values, _: values.mean(1)), PADDED)
    assert result.outcome == "failed"
    assert "a mean over 9 positions counts padding, which is 28% of the tokens" in result.message
    assert examined(Words(lambda values, _: values.mean(dim=-2)), PADDED).outcome == "failed"


@pytest.mark.parametrize("pool", [masked, normed, lambda values, _: values.amax(1)])
def test_other_ways_to_pool_are_right(pool: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert examined(Words(pool), PADDED).outcome == "passed"


def test_skips_what_has_no_padding() -> None:
    assert examined(Words(lambda values, _: values.mean(1)), TOKENS).outcome == "skipped"
    unknown = Words(lambda values, _: values.mean(1), padding=None)
    assert examined(unknown, PADDED).outcome == "skipped"
