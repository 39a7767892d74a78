"""Which masks of a batch are tested, and in which sense."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sickbay.checkups import checkup
from sickbay.checkups.statements.sequences.respects_masks import RespectsMasks
from tests.checkups.attention_models import LENGTH, TOKENS, WIDTH, tokens
from tests.checkups.masked_models import PADDED, RIGHT, Masked, Plain, Valid


class Turned(Masked):
    def forward(self, x: Tensor, valid_mask: Tensor | None = None) -> Any:
        return super().forward(x, valid_mask)


HEAVY = torch.arange(LENGTH) < torch.tensor([LENGTH - 2, 3, 4, 3, 5, 3])[:, None]
SPARSE = tokens()[0][:6].clamp(min=1) * HEAVY


@pytest.mark.parametrize(
    ("model", "mask", "outcome"),
    [
        pytest.param(Masked(), ~HEAVY, "passed", id="drop"),
        pytest.param(Masked(lambda mask: ~mask), ~HEAVY, "failed", id="drop-inverted"),
        pytest.param(Valid(), HEAVY, "passed", id="keep"),
        pytest.param(Turned(), HEAVY, "failed", id="keep-inverted"),
        pytest.param(Plain(), ~HEAVY, "passed", id="either"),
        pytest.param(Plain(), HEAVY & False, "passed", id="either-without-padding"),
        pytest.param(Plain(lambda mask: ~mask), HEAVY, "passed", id="either-the-other-way"),
        pytest.param(Plain(lambda mask: ~mask), ~HEAVY, "failed", id="inverted-by-the-padding"),
    ],
)
def test_a_name_is_trusted_though_most_is_padding(
    model: nn.Module, mask: Tensor, outcome: str
) -> None:
    [result] = checkup(model, (SPARSE, mask, None), tests=RespectsMasks()).results
    assert result.outcome == outcome, result.message


def test_without_a_padding_token_a_plain_mask_may_mean_either() -> None:
    varied = tokens()[0][:6]
    for mask, change in ((HEAVY, lambda mask: ~mask), (~HEAVY, None)):
        batch = (varied, mask, None)
        assert checkup(Plain(change), batch, tests=RespectsMasks()).passed


class Both(nn.Module):
    """Gets two masks: attends by one and pools by the other, or by neither."""

    def __init__(self, pools_by: str) -> None:
        super().__init__()
        self.inner, self.pools_by = Masked(), pools_by

    def forward(self, x: Tensor, key_padding_mask: Tensor, valid_mask: Tensor) -> Any:
        mask = {"valid": valid_mask, "attention": ~key_padding_mask}[self.pools_by][..., None]
        return (self.inner(x, key_padding_mask) * mask).sum(1) / mask.sum(1)


def test_every_mask_is_tested() -> None:
    batch = {"x": PADDED.flip(0), "key_padding_mask": ~RIGHT.flip(0), "valid_mask": RIGHT.flip(0)}
    [result] = checkup(Both("attention"), batch, tests=RespectsMasks()).results
    assert (result.outcome, result.severity) == ("failed", "warning")
    assert "positions that valid_mask drops" in result.message
    assert "those that key_padding_mask drops changed none" in result.message


class Twice(nn.Module):
    """Pools by a mask what a layer in both directions has read by the lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor, mask: Tensor) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.tokens(x), lengths, batch_first=True, enforce_sorted=False
        )
        out = nn.utils.rnn.pad_packed_sequence(
            self.rnn(packed)[0], batch_first=True, total_length=x.shape[1]
        )[0]
        return (out * mask[..., None]).sum(1) / lengths[:, None]


def test_a_mask_may_do_its_part_beside_another() -> None:
    mask = RIGHT.flip(0)
    batch = {"x": PADDED.flip(0), "lengths": mask.sum(1), "mask": mask}
    [result] = checkup(Twice(), batch, tests=RespectsMasks()).results
    assert result.outcome == "passed", result.message
    assert result.message == "positions that lengths drops changed no other output"
