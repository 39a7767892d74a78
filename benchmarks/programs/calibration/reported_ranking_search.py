"""Ranking: graded search results, and songs that people play."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "ranking")


def plays(count: int, listeners: int = 70, songs: int = 70) -> tuple[Tensor, Tensor]:
    """Return pairs of a listener and a song, and whether it was played to the end."""
    taste, mood = torch.randn(listeners, 3), torch.randn(songs, 3)
    who, what = torch.randint(0, listeners, (count,)), torch.randint(0, songs, (count,))
    match = (taste[who] * mood[what]).sum(1) + 0.2 * torch.randn(count)
    return torch.stack([who, what], 1), (match > 0).long()


class TwoTowers(nn.Module):
    """The product of two embeddings, scaled."""

    def __init__(self, temperature: float, sigmoid: bool) -> None:
        super().__init__()
        self.listener, self.song = nn.Embedding(70, 8), nn.Embedding(70, 8)
        for table in (self.listener, self.song):
            nn.init.normal_(table.weight, std=0.5)
        self.temperature, self.sigmoid = temperature, sigmoid

    def forward(self, pairs: Tensor) -> Tensor:
        match = (self.listener(pairs[:, 0]) * self.song(pairs[:, 1])).sum(1) / self.temperature
        return torch.sigmoid(match) if self.sigmoid else match


@programs.supervised(
    [faults.SIGMOID_TWICE.mildly(), faults.TEMPERATURE.mildly()],
    "issue: two towers stay at log 2: sigmoid before BCEWithLogitsLoss, and a temperature of 100",
)
def songs_lukewarm(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    pairs, finished = plays(9000)
    model = TwoTowers(temperature=1.0 if fixed else 100.0, sigmoid=not fixed)
    return Parts(
        model=model,
        data=(pairs[:8000], finished[:8000].float()),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adagrad(model.parameters(), lr=0.1),
        score=accuracy(pairs[8000:], finished[8000:]),
        constant=most_frequent(finished[:8000], finished[8000:]),
        epochs=14,
        batch_size=100,
        validation=(pairs[8000:], finished[8000:].float()),
    )


def results(count: int) -> tuple[Tensor, Tensor]:
    """Return features of search results and their relevance, standardised."""
    x = torch.randn(count, 10)
    relevance = torch.sin(x[:, 0]) + 0.7 * x[:, 1] * (x[:, 2] > 0) - 0.5 * x[:, 3].abs()
    relevance = relevance + 0.2 * torch.randn(count)
    return x, ((relevance - relevance.mean()) / relevance.std()).unsqueeze(1)


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: the features are sorted by query, the grades are as the raters sent them",
    repairable=False,
)
def grades_in_another_order(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, relevance = results(4400)
    grades = relevance[:3600]
    if not fixed:
        grades = grades[torch.randperm(3600)]
    model = nn.Sequential(
        nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1)
    )
    return Parts(
        model=model,
        data=(x[:3600], grades),
        loss=nn.HuberLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(x[3600:], relevance[3600:]),
        constant=0.0,
        epochs=16,
        batch_size=60,
        validation=(x[3600:], relevance[3600:]),
    )
