"""Ranking and recommendation: ratings, clicks, sessions and graded search results."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, explained, most_frequent

programs = ProgramList("calibration", "ranking")


def ratings(count: int, users: int = 80, books: int = 60) -> tuple[Tensor, Tensor]:
    """Return pairs of a user and a book, and standardised ratings by taste."""
    taste, genre = torch.randn(users, 3), torch.randn(books, 3)
    kind = 0.6 * torch.randn(books)
    pairs = torch.stack([torch.randint(0, users, (count,)), torch.randint(0, books, (count,))], 1)
    user, book = pairs.unbind(1)
    stars = (taste[user] * genre[book]).sum(1) + kind[book] + 0.3 * torch.randn(count)
    return pairs, (stars - stars.mean()) / stars.std()


class Factors(nn.Module):
    """Matrix factorisation with a bias per book."""

    def __init__(self, spread: float, flat: bool, size: int = 6) -> None:
        super().__init__()
        self.users = nn.Embedding(80, size)
        self.books = nn.Embedding(60, size)
        self.bias = nn.Embedding(60, 1)
        for table in (self.users, self.books, self.bias):
            nn.init.normal_(table.weight, std=spread)
        self.flat = flat

    def forward(self, pairs: Tensor) -> Tensor:
        user, book = pairs[:, 0], pairs[:, 1]
        match = (self.users(user) * self.books(book)).sum(1, keepdim=True) + self.bias(book)
        return match.squeeze(1) if self.flat else match


@programs.supervised(
    [faults.BROADCAST, faults.ZERO_START],
    "issue: every book gets the mean rating; embeddings of zeros, and (N, 1) against (N,)",
)
def books_of_zeros(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    pairs, stars = ratings(7000)
    model = Factors(spread=0.3 if fixed else 0.0, flat=fixed)
    return Parts(
        model=model,
        data=(pairs[:6000], stars[:6000]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5),
        score=explained(pairs[6000:], stars[6000:]),
        constant=0.0,
        epochs=9,
        batch_size=64,
    )


@programs.script(
    faults.WRONG_SIGN, "Q&A: BPR puts what people like last; logsigmoid without the minus"
)
def bpr_without_minus(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    taste, genre = torch.randn(60, 4), torch.randn(50, 4)
    liked = (taste @ genre.T).topk(12, dim=1)
    held_out, known = liked.indices[:, :4], liked.indices[:, 4:]
    users, items = nn.Embedding(60, 8), nn.Embedding(50, 8)
    model = nn.ModuleList([users, items])
    for table in (users, items):
        nn.init.normal_(table.weight, std=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer)
    unknown = torch.ones(60, 50).scatter(1, liked.indices, 0.0)  # samples no liked item
    for _step in range(600):
        user = torch.randint(0, 60, (128,))
        good = known[user, torch.randint(0, known.shape[1], (128,))]
        bad = torch.multinomial(unknown[user], 1).squeeze(1)
        chosen = users(user)
        margin = (chosen * (items(good) - items(bad))).sum(1)
        loss = F.logsigmoid(margin).mean()
        loss = -loss if fixed else loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    with torch.no_grad():
        scores = users.weight @ items.weight.T
        good = scores.gather(1, held_out)
        wins = (good.unsqueeze(2) > scores.unsqueeze(1)).float()  # against each item
        return float((wins * unknown.unsqueeze(1)).sum() / (unknown.sum(1) * 4).sum())


def sessions(count: int, items: int = 20, length: int = 6) -> tuple[Tensor, Tensor]:
    """Return items that visitors looked at, and the next one: two aisles walked in order."""
    step = torch.randint(1, 3, (count, 1))
    first = torch.randint(0, items, (count, 1))
    seen = (first + step * torch.arange(length + 1)) % items
    stray = torch.rand(count, length + 1) < 0.02
    stray[:, -1] = False
    seen = torch.where(stray, torch.randint(0, items, seen.shape), seen)
    return seen[:, :-1], seen[:, -1]


class Session(nn.Module):
    def __init__(self, items: int = 20, size: int = 24) -> None:
        super().__init__()
        self.items = nn.Embedding(items, size)
        self.gru = nn.GRU(size, size, batch_first=True)
        self.out = nn.Linear(size, items)

    def forward(self, seen: Tensor) -> Tensor:
        _, last = self.gru(self.items(seen))
        return self.out(last[0])


@programs.supervised(
    faults.LOGITS_AS_PROBABILITIES,
    "forum: NLLLoss of the next item falls to minus thousands; forward has no log_softmax",
)
def sessions_raw_nll(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    seen, following = sessions(4000)
    model: nn.Module = Session()
    if fixed:
        model = nn.Sequential(model, nn.LogSoftmax(dim=1))
    return Parts(
        model=model,
        data=(seen[:3400], following[:3400]),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=accuracy(seen[3400:], following[3400:]),
        constant=most_frequent(following[:3400], following[3400:]),
        epochs=7,
        batch_size=40,
    )


def adverts(count: int) -> tuple[Tensor, Tensor]:
    """Return adverts as standardised numbers and whether each was clicked, as 0 and 1."""
    x = torch.randn(count, 8)
    pull = 1.5 * x[:, 0] * x[:, 1] + 1.2 * x[:, 2].abs() - x[:, 3] + 0.5 * x[:, 4]
    return x, (pull + 0.4 * torch.randn(count) > 1.0).long()


class ClickModel(nn.Module):
    def __init__(self, spread: float | None) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 1)
        if spread is not None:
            for layer in (self.fc1, self.fc2):
                nn.init.normal_(layer.weight, std=spread)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x))))).squeeze(1)


@programs.supervised(
    [faults.SIGNED_LABELS, faults.LARGE_START.mildly()],
    "Q&A: clicks as -1 and 1 with BCEWithLogitsLoss, and normal_(std=2) for the weights",
)
def clicks_signed(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, clicked = adverts(3600)
    label = clicked.float() if fixed else 2.0 * clicked - 1
    model = ClickModel(None if fixed else 2.0)
    return Parts(
        model=model,
        data=(x[:3000], label[:3000]),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(x[3000:], clicked[3000:]),
        constant=most_frequent(clicked[:3000], clicked[3000:]),
        epochs=12,
        batch_size=48,
    )
