from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.checkups import Result, checkup

LENGTHS = torch.tensor([9, 4, 6, 9, 3, 5, 9, 7])
TOKENS = torch.randint(1, 20, (8, 9), generator=torch.Generator().manual_seed(0))
PADDED = TOKENS * (torch.arange(9) < LENGTHS[:, None])
NEXT = PADDED[:, :-1], PADDED[:, 1:]


class Words(nn.Module):
    def __init__(self, padding: int | None = 0) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(20, 16, padding_idx=padding), nn.Linear(16, 20)
        self.rnn = nn.GRU(16, 16, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.rnn(self.tokens(x))[0])
        return out


def counts(output: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(output.flatten(0, 1), targets.flatten())


def ignores(output: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(output.flatten(0, 1), targets.flatten(), ignore_index=0)


def masked(output: Tensor, targets: Tensor) -> Tensor:
    each = F.cross_entropy(output.transpose(1, 2), targets, reduction="none")
    return each[targets > 0].mean()


def examined(model: nn.Module, batch: Any, loss: Any) -> Result:
    torch.manual_seed(0)
    [result] = checkup(model, batch, loss, tests="loss_leaves_out_padding").results
    return result


def test_a_loss_that_counts_padding_is_found() -> None:
    result = examined(Words(), NEXT, counts)
    assert result.outcome == "failed"
    assert "positions that hold only padding" in result.message


def test_a_loss_may_leave_it_out_in_its_own_way() -> None:
    assert examined(Words(), NEXT, ignores).outcome == "passed"
    assert examined(Words(), NEXT, masked).outcome == "passed"


def test_skips_what_has_no_padding() -> None:
    assert examined(Words(), (TOKENS[:, :-1], TOKENS[:, 1:]), counts).outcome == "skipped"
    assert (
        examined(Words(padding=None), (TOKENS[:, 1:], TOKENS[:, :-1]), counts).outcome == "skipped"
    )


def test_padding_is_also_known_by_what_fills_up_the_targets() -> None:
    assert examined(Words(padding=None), NEXT, counts).outcome == "failed"
    assert examined(Words(padding=None), NEXT, ignores).outcome == "passed"
    within = PADDED.clone()
    within[0, 4] = 0  # a token that also stands elsewhere is a word
    assert (
        examined(Words(padding=None), (within[:, :-1], within[:, 1:]), counts).outcome == "skipped"
    )


@pytest.mark.parametrize(("ends", "outcome"), [(3, "failed"), (2, "skipped")])
def test_a_few_positions_of_padding_show_nothing(ends: int, outcome: str) -> None:
    tokens = TOKENS.clone()
    tokens[0, -1 - ends :] = 0
    assert examined(Words(), (tokens[:, :-1], tokens[:, 1:]), counts).outcome == outcome
