"""Ranking and recommending: which of two, and what comes first."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained, predict

programs = ProgramList("calibration", "ranking")


def documents(seed: int, count: int = 1500) -> tuple[Tensor, Tensor]:
    """Return features of documents and how relevant they are."""
    own = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 12, generator=own)
    relevance = torch.tanh(x[:, :4].sum(1)) + x[:, 4] * x[:, 5]
    return x, relevance + 0.1 * torch.randn(count, generator=own)


def pairs_in_order(scorer: nn.Module, x: Tensor, relevance: Tensor) -> float:
    """Return the share of pairs that are in the right order."""
    scores = predict(scorer, x).flatten()
    apart = (relevance[:, None] - relevance[None, :]).triu(1)
    asked = apart != 0
    told = scores[:, None] - scores[None, :]
    return float(((told * apart > 0) & asked).sum() / asked.sum())


def ranker() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
    )


@programs.script(
    faults.WRONG_SIGN, "forum: MarginRankingLoss with the pair swapped, NDCG below chance"
)
def margin_swapped(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, relevance = documents(seed)
    model = ranker()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MarginRankingLoss(margin=1.0)
    doctor = watch(model, optimizer)
    for _step in range(1500):
        first, second = torch.randint(0, 1000, (2, 64))
        higher = torch.sign(relevance[first] - relevance[second])
        ahead, behind = model(x[first]).squeeze(1), model(x[second]).squeeze(1)
        loss = criterion(ahead, behind, higher) if fixed else criterion(behind, ahead, higher)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return pairs_in_order(model, x[1000:], relevance[1000:])


@programs.script(
    faults.HIGH_RATE,
    "issue: triplet loss is stuck at the margin; all embeddings are the same",
)
def triplets_collapse(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, relevance = documents(seed)
    group = (relevance > relevance.median()).long()
    model = nn.Sequential(
        nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.3)
    members = [torch.nonzero(group[:1000] == each).flatten() for each in (0, 1)]
    doctor = watch(model, optimizer)
    for _step in range(1200):
        side = int(torch.randint(0, 2, ()))
        same = members[side][torch.randint(0, len(members[side]), (2, 64))]
        other = members[1 - side][torch.randint(0, len(members[1 - side]), (64,))]
        anchor, positive, negative = model(x[same[0]]), model(x[same[1]]), model(x[other])
        loss = F.triplet_margin_loss(anchor, positive, negative, margin=1.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    codes = predict(model, x)
    centres = torch.stack([codes[each].mean(0) for each in members])
    nearest = torch.cdist(codes[1000:], centres).argmin(1)
    return float((nearest == group[1000:]).double().mean())


def ratings(seed: int) -> tuple[Tensor, Tensor]:
    """Return pairs of a user and a film, and the ratings from 1 to 5."""
    own = torch.Generator().manual_seed(seed)
    users, films = torch.randn(150, 3, generator=own), torch.randn(80, 3, generator=own)
    who = torch.randint(0, 150, (6000,), generator=own)
    what = torch.randint(0, 80, (6000,), generator=own)
    liked = 3 + 0.9 * (users[who] * films[what]).sum(1) + 0.2 * torch.randn(6000, generator=own)
    return torch.stack([who, what], 1), liked.clamp(1, 5)


class Factors(nn.Module):
    """Vectors of users and films. A plain list hides the film vectors from `parameters()`."""

    def __init__(self, registered: bool) -> None:
        super().__init__()
        tables: Any = [nn.Embedding(150, 8), nn.Embedding(80, 8)]
        self.tables = nn.ModuleList(tables) if registered else tables
        self.bias = nn.Embedding(80, 1)

    def forward(self, pairs: Tensor) -> Tensor:
        who, what = self.tables[0](pairs[:, 0]), self.tables[1](pairs[:, 1])
        return 3 + (who * what).sum(1, keepdim=True) + self.bias(pairs[:, 1])


@programs.supervised(
    faults.NOT_IN_OPTIMIZER, "forum: layers in a Python list are not in parameters()"
)
def films_in_a_list(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    pairs, liked = ratings(seed)
    model = Factors(registered=fixed)
    return Parts(
        model=model,
        data=(pairs[:5000], liked[:5000].unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4),
        score=explained(pairs[5000:], liked[5000:]),
        constant=0.0,
        epochs=20,
        batch_size=64,
    )
