"""Targets that stand in the inputs."""

from math import isnan, nan

import pytest
import torch
from torch import Tensor, nn

from sickbay.probe.leaks import Copies, repeated

X = torch.randn(12, 5, 3, generator=torch.Generator().manual_seed(0))
TOKENS = torch.arange(20).reshape(4, 5)


@pytest.mark.parametrize(
    ("ahead", "moved", "expected"), [(0, 0, 1.0), (1, 0, 0.0), (1, 1, 1.0), (0, 1, 0.0)]
)
def test_tokens(ahead: int, moved: int, expected: float) -> None:
    assert repeated(TOKENS, TOKENS + moved, ahead) == expected


def test_one_sample_at_a_time() -> None:
    copies = Copies(nn.Linear(15, 1))
    found = [copies.share(each[None], each[None, 2, 1]) for each in X]
    assert all(map(isnan, found[:3]))
    assert found[3:] == [1.0] * 9


def test_a_coincidence_is_no_copy() -> None:
    copies = Copies(nn.Linear(15, 1))
    targets = torch.cat([X[:3, 2, 1], X[3:, 0, 0]])
    found = [copies.share(*pair) for pair in zip(X[:, None], targets[:, None], strict=True)]
    assert found[-1] == 0.0


def test_targets_that_never_change() -> None:
    assert isnan(Copies(nn.Linear(15, 1)).share(torch.ones(12, 15), torch.ones(12)))


@pytest.mark.parametrize(
    ("model", "targets", "expected"),
    [
        pytest.param(nn.GRU(3, 3, batch_first=True), X, 1.0, id="recurrent"),
        pytest.param(nn.GRU(3, 3, batch_first=True), X + 0.1, 0.0, id="other-targets"),
        pytest.param(nn.GRU(3, 3, bidirectional=True), X, nan, id="both-ways"),
        pytest.param(nn.Sequential(nn.GRU(3, 2), nn.GRU(2, 3)), X, nan, id="autoencoder"),
        pytest.param(nn.Linear(3, 3), X, nan, id="not-recurrent"),
    ],
)
def test_targets_as_large_as_inputs(model: nn.Module, targets: Tensor, expected: float) -> None:
    found = Copies(model).share(X, targets)
    assert found == expected or (isnan(found) and isnan(expected))
