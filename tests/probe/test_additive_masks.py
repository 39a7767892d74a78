"""Masks of attention among the inputs of a model."""

from math import inf

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.probe.additive_masks import is_additive_mask

CAUSAL = nn.Transformer.generate_square_subsequent_mask(6)


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        pytest.param(CAUSAL, True, id="causal"),
        pytest.param(CAUSAL[None].repeat(32, 1, 1), True, id="of-each-sample"),
        pytest.param(torch.tensor([[0.0, 0.0, -inf]]), True, id="padding"),
        pytest.param(torch.full((32, 6), -inf), True, id="all-shut"),
        pytest.param(torch.full((6, 6), -1e9).triu(1), True, id="large-numbers"),
        pytest.param(torch.full((32, 32), -1e9).triu(1), False, id="as-many-as-samples"),
        pytest.param(torch.zeros(32, 6), False, id="zeros"),
        pytest.param(torch.tensor([[1.0, -inf, -1.0]]), False, id="logarithms"),
        pytest.param(torch.full((32, 6), torch.nan), False, id="nan"),
        pytest.param(torch.tensor([[0, 1]]), False, id="tokens"),
    ],
)
def test_what_is_one(tensor: Tensor, expected: bool) -> None:
    assert is_additive_mask(tensor, samples=32) is expected


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(9, 8), nn.Linear(8, 9)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        out: Tensor = self.out(self.layer(self.words(x), src_mask=mask))
        return out


@pytest.mark.parametrize("samples", [6, 16])
def test_a_mask_that_a_model_is_given_is_no_data(samples: int) -> None:
    torch.manual_seed(0)
    model = Decoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(6):
        x = torch.randint(9, (samples, 7))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(
            model(x[:, :-1], CAUSAL).flatten(0, 1), x[:, 1:].flatten()
        )
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert "non_finite" not in [each.problem for each in doctor.findings]
