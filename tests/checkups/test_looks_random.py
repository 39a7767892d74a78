import pytest
import torch
from torch import Tensor

from sickbay.checkups.looks_random import LEAST, looks_random

GENERATOR = torch.Generator().manual_seed(0)
NUMBERS = torch.randn(64, 64, generator=GENERATOR)
EVEN = torch.rand(64, 64, generator=GENERATOR)


def repeated(share: float) -> Tensor:
    """Return random numbers of which a share is there twice."""
    flat = NUMBERS.flatten().clone()
    count = int(share * len(flat))
    flat[-count:] = flat[:count]
    return flat[torch.randperm(len(flat), generator=GENERATOR)].view(64, 64)


@pytest.mark.parametrize(
    ("values", "random"),
    [
        pytest.param(NUMBERS, True, id="normal"),
        pytest.param(EVEN, True, id="even"),
        pytest.param(3 + NUMBERS / 7, True, id="shifted-and-scaled"),
        pytest.param(NUMBERS[:4], True, id="just-enough"),
        pytest.param(NUMBERS[:4, :-1], False, id="too-few"),
        pytest.param(NUMBERS.flatten(), False, id="no-matrix"),
        pytest.param(NUMBERS.long(), False, id="integers"),
        pytest.param(repeated(0.04), True, id="hardly-any-twice"),
        pytest.param(repeated(0.06), False, id="too-many-twice"),
        pytest.param(EVEN.where(NUMBERS > 0, 1 - EVEN.flip(0)).round(), False, id="flags"),
        pytest.param(NUMBERS.sort(dim=0).values, False, id="sorted-columns"),
        pytest.param(NUMBERS.sort(dim=1).values, False, id="sorted-rows"),
        pytest.param(NUMBERS.exp(), False, id="leaning"),
        pytest.param(NUMBERS.pow(3), False, id="too-many-large"),
        pytest.param(NUMBERS.sign() + EVEN / 10, False, id="two-groups"),
        pytest.param(torch.full((64, 64), torch.nan), False, id="nan"),
    ],
)
def test_looks_random(values: Tensor, random: bool) -> None:
    assert looks_random(values) is random


def test_the_least_number_is_tested() -> None:
    assert NUMBERS[:4].numel() == LEAST
