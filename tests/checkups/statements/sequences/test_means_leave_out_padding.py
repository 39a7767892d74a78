from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

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
    assert "as a sample was padded to 2, 4 and 8 positions" in result.message
    assert examined(Words(lambda values, _: values.mean(dim=-2)), PADDED).outcome == "failed"


@pytest.mark.parametrize("pool", [masked, normed, lambda values, _: values.amax(1)])
def test_other_ways_to_pool_are_right(pool: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert examined(Words(pool), PADDED).outcome == "passed"


def test_skips_what_has_no_padding() -> None:
    assert examined(Words(lambda values, _: values.mean(1)), TOKENS).outcome == "skipped"
    unknown = Words(lambda values, _: values.mean(1), padding=None)
    assert examined(unknown, PADDED).outcome == "skipped"


class Tagged(Words):
    """An output for each token."""

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.tokens(x))
        return out


class Fixed(Words):
    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[1] == 9
        return super().forward(x)


class Convolved(Words):
    """Reads several tokens at once, then pools."""

    def __init__(self, pool: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__(pool)
        self.layer = nn.Conv1d(16, 16, 5, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        values = self.layer(self.tokens(x).transpose(1, 2)).transpose(1, 2)
        out: Tensor = self.head(self.pool(values, x))
        return out


class Read(Words):
    """A recurrent layer whose last state is used, or the mean of all."""

    def __init__(self, pool: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__(pool)
        self.layer = nn.GRU(16, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.pool(self.layer(self.tokens(x))[0], x))
        return out


def highest(values: Tensor, _: Tensor) -> Tensor:
    return values.amax(1)


def averaged(values: Tensor, _: Tensor) -> Tensor:
    return values.mean(1)


def both_averaged(values: Tensor, tokens: Tensor) -> Tensor:
    kept = (tokens != 0).float()[..., None]
    return (values * kept).mean(1) / kept.mean(1)


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param(lambda values, x: values.sum(1) / x.shape[1], id="divided-by-the-length"),
        pytest.param(
            lambda values, _: F.adaptive_avg_pool1d(values.transpose(1, 2), 1)[..., 0], id="pooled"
        ),
        pytest.param(lambda values, _: values.transpose(1, 2).mean(-1), id="transposed"),
        pytest.param(lambda values, _: torch.mean(input=values, dim=1), id="by-name"),
        pytest.param(lambda values, _: torch.einsum("nld->nd", values) / 9, id="padding-added"),
    ],
)
def test_a_mean_is_found_however_it_is_written(pool: Callable[[Tensor, Tensor], Tensor]) -> None:
    model = Words(lambda values, x: pool(values + 1, x))
    assert examined(model, PADDED).outcome == "failed"


@pytest.mark.parametrize(
    ("model", "outcome"),
    [
        pytest.param(Words(both_averaged), "passed", id="ratio-of-means"),
        pytest.param(Words(lambda values, _: values.sum(1)), "passed", id="sum-of-zeros"),
        pytest.param(Convolved(highest), "passed", id="highest-of-convolution"),
        pytest.param(Convolved(averaged), "failed", id="mean-of-convolution"),
        pytest.param(Read(lambda values, _: values[:, -1]), "passed", id="last-state"),
        pytest.param(Read(averaged), "failed", id="mean-of-states"),
        pytest.param(Tagged(averaged), "skipped", id="an-output-for-each-token"),
        pytest.param(Fixed(averaged), "skipped", id="one-length"),
    ],
)
def test_what_pools_is_told_by_what_padding_changes(model: nn.Module, outcome: str) -> None:
    result = examined(model, PADDED)
    assert result.outcome == outcome, result.message


def test_several_samples_must_end_in_padding() -> None:
    once = TOKENS.clone()
    once[1, 5:] = 0
    assert examined(Words(averaged), once).outcome == "skipped"
    once[2, 7:] = 0
    assert examined(Words(averaged), once).outcome == "failed"


def test_a_head_of_zeros_hides_nothing() -> None:
    model = Words(averaged)
    nn.init.zeros_(model.head.weight)
    assert examined(model, PADDED).outcome == "failed"
