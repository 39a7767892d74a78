"""Whether gradients are finite, however they are stored."""

from math import inf, nan

import pytest
import torch
from torch import Tensor

from sickbay.probe.finite import all_finite

MATRIX, VECTOR, SCALAR = torch.ones(3, 3), torch.ones(4), torch.ones(())
SPARSE = torch.ones(4, 2).to_sparse()


@pytest.mark.parametrize("bad", [nan, inf, -inf])
@pytest.mark.parametrize(
    "grads",
    [
        pytest.param([MATRIX], id="matrix"),
        pytest.param([VECTOR], id="vector"),
        pytest.param([SCALAR], id="scalar"),
        pytest.param([MATRIX, VECTOR, VECTOR, SCALAR, MATRIX], id="mixed"),
        pytest.param([VECTOR, VECTOR.double(), VECTOR.bfloat16()], id="several-precisions"),
        pytest.param([MATRIX, torch.ones(2, 2, dtype=torch.complex64)], id="complex"),
        pytest.param([MATRIX.half(), VECTOR.half()], id="half"),
        pytest.param([MATRIX, SPARSE, VECTOR], id="sparse"),
    ],
)
def test_one_value_in_any_gradient_is_seen(grads: list[Tensor], bad: float) -> None:
    assert all_finite(grads)
    for place, grad in enumerate(grads):
        spoilt = grad.to_dense().clone()
        spoilt.view(-1)[-1] = bad
        among = [*grads]
        among[place] = spoilt.to_sparse() if grad.is_sparse else spoilt
        assert not all_finite(among)


@pytest.mark.parametrize(
    "grads",
    [
        pytest.param([], id="none"),
        pytest.param([torch.full((9,), 3e38), torch.full((9, 9), 3e38)], id="norm-overflows"),
        pytest.param([torch.full((9,), 6e4, dtype=torch.float16)], id="half-overflows"),
        pytest.param([torch.zeros(0), torch.zeros(0, 3)], id="empty"),
    ],
)
def test_what_is_finite_is_not_taken_for_bad(grads: list[Tensor]) -> None:
    assert all_finite(grads)
