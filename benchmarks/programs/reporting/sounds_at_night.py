"""Sounds at night: who is calling."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import (
    accuracy,
    most_frequent,
)

programs = ProgramList("reporting", "series")


class Listener(nn.Module):
    """A transformer of one layer over short pieces of a sound."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.pieces = nn.Linear(6, 24)
        self.places = nn.Parameter(0.02 * torch.randn(10, 24))
        self.encoder = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(24, classes)

    def forward(self, sounds: Tensor) -> Tensor:
        pieces = self.pieces(sounds.unflatten(1, (10, 6)))
        return self.head(self.encoder(pieces + self.places).mean(1))


def bats(count: int) -> tuple[Tensor, Tensor]:
    """Return calls of bats that rise, fall, or do both, and which of the four they do."""
    form = torch.randint(0, 4, (count,))
    time = torch.linspace(-1, 1, 60)
    curves = torch.stack([time, -time, time.square() - 0.5, 0.5 - time.square()])[form]
    phase = (1.2 + 0.5 * curves).cumsum(1) + 6 * torch.rand(count, 1)
    return torch.sin(phase) + 0.2 * torch.randn(count, 60), form


@programs.supervised(
    faults.HIGH_RATE.mildly(),
    "issue: one transformer layer with Adam(0.1), 'the same rate as for my convolutions'",
    kind="signals",
)
def calls_of_bats(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, form = bats(1800)
    model = Listener(4)
    return Parts(
        model=model,
        data=(x[:1300], form[:1300]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.1),
        score=accuracy(x[1300:], form[1300:]),
        constant=most_frequent(form[:1300], form[1300:]),
        epochs=15,
        batch_size=32,
    )
