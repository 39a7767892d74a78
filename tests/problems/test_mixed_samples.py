import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.history import History
from sickbay.problems import MixedSamples
from sickbay.vitals import Setup


@pytest.mark.parametrize("mixed", [True, False])
def test_check(mixed: bool) -> None:
    finding = MixedSamples().check(History(Setup(mixed=mixed), loss=[1.0]))
    assert bool(finding) is mixed


class Last(nn.Module):
    """A recurrent layer that answers at the last place."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.rnn, self.out = nn.GRU(3, 8, batch_first=batch_first), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        answers: Tensor = self.out(self.rnn(x)[0][:, -1])
        return answers


@pytest.mark.parametrize("batch_first", [True, False])
def test_in_a_loop(batch_first: bool) -> None:
    torch.manual_seed(0)
    model = Last(batch_first)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = sickbay.watch(model, optimizer, problems=["mixed_samples"], on_finding="silent")
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(16, 7, 3)), torch.randint(4, (16,)))
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    assert [each.problem for each in doctor.findings] == ["mixed_samples"] * (not batch_first)
