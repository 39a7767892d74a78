"""Models that are given their targets and return their loss."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import sickbay
from sickbay.probe.own_loss import without_loss

WORDS = 11


class LanguageModel(nn.Module):
    """Returns its logits and its loss, in either order."""

    def __init__(self, loss_first: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 8)
        self.body = nn.GRU(8, 16, batch_first=True)
        self.head = nn.Linear(16, WORDS)
        self.loss_first = loss_first

    def forward(self, tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.head(self.body(self.embedding(tokens))[0])
        loss = cross_entropy(logits.view(-1, WORDS), targets.reshape(-1))
        return (loss, logits) if self.loss_first else (logits, loss)


@pytest.mark.parametrize("loss_first", [True, False])
@pytest.mark.parametrize(("shift", "expected"), [(1, []), (0, ["target_leak"])])
def test_targets_that_the_model_is_given_for_its_loss(
    loss_first: bool, shift: int, expected: list[str]
) -> None:
    torch.manual_seed(0)
    model = LanguageModel(loss_first)
    optimizer = torch.optim.Adam(model.parameters())
    doctor = sickbay.watch(model, optimizer, every=1, on_finding="silent")
    for _ in range(5):
        tokens = torch.randint(WORDS, (4, 7))
        found = model(tokens[:, :6], tokens[:, shift : shift + 6])
        loss = found[0 if loss_first else 1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    assert doctor.history.setup.loss == "cross_entropy"
    assert [finding.problem for finding in doctor.findings] == expected


def test_nothing_but_a_loss() -> None:
    loss = torch.ones(3, requires_grad=True).sum()
    assert without_loss(loss) == (loss, True)
    assert without_loss(torch.ones(())) == (torch.ones(()), False)
    assert without_loss([torch.arange(3)]) == (None, False)
