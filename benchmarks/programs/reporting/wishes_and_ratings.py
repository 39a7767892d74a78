"""Wishes, answers and ratings: what comes first in a list."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("reporting", "text")

COLLAPSED = Fault(
    "the distance to the positive pushed apart, and to the negative pulled together",
    ("improper_loss", "wrong_sign"),
    ("embedding_collapse", *faults.UNSTABLE, *faults.DEAD, "exploding_gradient"),
)
OTHER_LIST = Fault(
    "a softmax over the queries in place of the documents of a query",
    ("improper_loss", "improper_output"),
    ("double_activation",),
)

BLANK = 0


def wishes(count: int) -> tuple[Tensor, Tensor]:
    """Return letters to a radio station with blanks behind them, and the music they ask for."""
    music = torch.randint(0, 4, (count,))
    words = torch.randint(81, 400, (count, 18))
    telling = torch.rand(count, 18) < 0.3
    words = torch.where(telling, 1 + 20 * music[:, None] + torch.randint(0, 20, (count, 18)), words)
    empty = torch.arange(18) >= torch.randint(5, 19, (count, 1))
    return words.masked_fill(empty, BLANK), music


class Bag(nn.Module):
    """A bag of words."""

    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(400, 16, padding_idx=BLANK)
        self.head = nn.Linear(16, 4)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(torch.relu(self.bag(words)))


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: texts sorted by length to save padding, and the list of labels left as it was",
    repairable=False,
)
def music_for_listeners(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    words, music = wishes(2000)
    words_test, music_test = wishes(800)
    order = (words != BLANK).sum(1).argsort(descending=True)
    model = Bag()
    return Parts(
        model=model,
        data=(words[order], music[order] if fixed else music),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        score=accuracy(words_test, music_test),
        constant=most_frequent(music, music_test),
        epochs=10,
        batch_size=50,
    )


def pairs_of_answers(count: int) -> tuple[Tensor, Tensor]:
    """Return a better and a worse answer to a question, as standardised facts about them."""
    own = torch.Generator().manual_seed(61)
    bend = torch.randn(10, 6, generator=own) / 10**0.5
    both = torch.randn(count, 2, 10)
    worth = (2 * both @ bend).tanh().sum(2) + both[..., 0] * both[..., 1]
    order = worth.argsort(1, descending=True)[..., None].expand(-1, -1, 10)
    both = both.gather(1, order)
    return both[:, 0], both[:, 1]


@programs.script(
    faults.WRONG_SIGN,
    "forum: MarginRankingLoss(better, worse) with a target of -1, 'minus one means first'",
    kind="ranking",
)
def better_answers(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    better, worse = pairs_of_answers(3000)
    scorer = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(scorer.parameters(), lr=3e-3)
    criterion = nn.MarginRankingLoss(margin=0.5)
    target = torch.ones(50, 1) if fixed else -torch.ones(50, 1)
    doctor = watch(scorer, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(2000).split(50):
            optimizer.zero_grad()
            loss = criterion(scorer(better[rows]), scorer(worse[rows]), target)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    right = predict(scorer, better[2000:]) > predict(scorer, worse[2000:])
    return float(right.double().mean())


def searches(count: int, shown: int = 8) -> tuple[Tensor, Tensor]:
    """Return facts about the documents that a search shows, and the one that is chosen."""
    documents = torch.randn(count, shown, 7) + 2 * torch.randn(count, 1, 7)
    worth = 2 * torch.sin(documents[..., 0]) + documents[..., 1] - 0.7 * documents[..., 2].abs()
    return documents, (worth + 0.2 * torch.randn(count, shown)).argmax(1)


class Documents(nn.Module):
    """A value for each document."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, documents: Tensor) -> Tensor:
        return self.value(documents).squeeze(2)


@programs.script(
    OTHER_LIST.mildly(),
    "issue: ListNet with softmax(dim=0) on scores of (queries, documents)",
    kind="ranking",
)
def chosen_documents(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    documents, chosen = searches(2600)
    truth = F.one_hot(chosen, 8).float()
    model = Documents()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(1800).split(30):
            chances = F.softmax(model(documents[rows]), dim=1 if fixed else 0)
            loss = -(truth[rows] * torch.log(chances + 1e-9)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(model, documents[1800:]), chosen[1800:])


READERS, BOOKS = 60, 80


def ratings(count: int) -> tuple[Tensor, Tensor]:
    """Return pairs of a reader and a book, and whether the reader liked the book."""
    own = torch.Generator().manual_seed(8)
    taste = torch.randn(READERS, 3, generator=own)
    kind = torch.randn(BOOKS, 3, generator=own)
    reader, book = torch.randint(0, READERS, (count,)), torch.randint(0, BOOKS, (count,))
    worth = (taste[reader] * kind[book]).sum(1) + 0.3 * torch.randn(count)
    return torch.stack([reader, book], 1), (worth > 0).float()


class Factors(nn.Module):
    """The product of a reader and a book."""

    def __init__(self, spread: float) -> None:
        super().__init__()
        self.readers = nn.Embedding(READERS, 16)
        self.books = nn.Embedding(BOOKS, 16)
        for table in (self.readers, self.books):
            nn.init.normal_(table.weight, std=spread)

    def forward(self, pairs: Tensor) -> Tensor:
        return (self.readers(pairs[:, 0]) * self.books(pairs[:, 1])).sum(1)


@programs.supervised(
    [faults.LARGE_START.mildly(), faults.DECAY],
    "Q&A: embeddings as they are by default, and weight_decay=0.05 in Adam 'for the cold start'",
    kind="ranking",
)
def books_of_readers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    pairs, liked = ratings(3600)
    model = Factors(0.1 if fixed else 1.0)
    decay = 0.0 if fixed else 0.05
    return Parts(
        model=model,
        data=(pairs[:2600], liked[:2600]),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=decay),
        score=accuracy(pairs[2600:], liked[2600:].long()),
        constant=most_frequent(liked[:2600].long(), liked[2600:].long()),
        epochs=12,
        batch_size=64,
    )


def shoes(count: int) -> tuple[Tensor, Tensor]:
    """Return shoes as standardised facts, and one of 12 models each."""
    own = torch.Generator().manual_seed(19)
    middles = torch.randn(12, 5, generator=own)
    wear = torch.randn(5, 16, generator=own)
    model = torch.randint(0, 12, (count,))
    x = torch.tanh((middles[model] + 0.3 * torch.randn(count, 5)) @ wear)
    return x + 0.6 * torch.randn(count, 16), model


@programs.script(
    COLLAPSED,
    "forum: own triplet loss, relu(negative - positive + margin); all vectors look alike",
    kind="ranking",
)
def shoes_alike(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, label = shoes(1500)
    net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 8))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    doctor = watch(net, optimizer)
    for _step in range(400):
        anchor = torch.randint(0, 1000, (40,))
        alike = label[anchor][:, None] == label[:1000]
        positive = torch.multinomial(alike.float(), 1).squeeze(1)
        negative = torch.multinomial((~alike).float(), 1).squeeze(1)
        here, near, far = (net(x[rows]) for rows in (anchor, positive, negative))
        near, far = (here - near).norm(dim=1), (here - far).norm(dim=1)
        loss = F.relu((near - far if fixed else far - near) + 1.0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    vectors = predict(net, x)
    nearest = torch.cdist(vectors[1000:], vectors[:1000]).argmin(1)
    return float((label[nearest] == label[1000:]).double().mean())
