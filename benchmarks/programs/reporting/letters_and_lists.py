"""Letters, notes and lists of words: what a text says."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("reporting", "text")

BLANKS = Fault(
    "blanks counted in the loss", ("improper_loss", "bad_targets", "class_imbalance"), mild=True
)


def notes(count: int) -> tuple[Tensor, Tensor]:
    """Return notes of hotel guests as word numbers, and which of five things they are about."""
    about = torch.randint(0, 5, (count,))
    words = torch.randint(120, 600, (count, 14))
    telling = torch.rand(count, 14) < 0.15
    own = 20 * about[:, None] + torch.randint(0, 20, (count, 14))
    other = torch.randint(0, 120, (count, 14))
    words = torch.where(telling, own, words)
    return torch.where(torch.rand(count, 14) < 0.1, other, words), about


class Note(nn.Module):
    """The mean of the words' vectors, and a layer behind it."""

    def __init__(self, vectors: nn.Embedding) -> None:
        super().__init__()
        self.vectors = vectors
        self.head = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 5))

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.vectors(words).mean(1))


@programs.supervised(
    [faults.FROZEN, faults.DROPOUT.mildly(), faults.SOFTMAX_TWICE.mildly()],
    "forum: Embedding.from_pretrained on random vectors freezes them; dropout 0.8; two softmaxes",
)
def notes_of_guests(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    words, about = notes(3600)
    model = Note(nn.Embedding.from_pretrained(torch.randn(600, 16), freeze=not fixed))
    model.head.insert(0, nn.Dropout(0.1 if fixed else 0.8))
    if not fixed:
        model.head.append(nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(words[:2600], about[:2600]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=accuracy(words[2600:], about[2600:]),
        constant=most_frequent(about[:2600], about[2600:]),
        epochs=12,
        batch_size=64,
    )


def surnames(count: int) -> tuple[Tensor, Tensor]:
    """Return surnames as letters and one of eight countries: pairs of letters tell."""
    own = torch.Generator().manual_seed(15)
    follows = torch.rand(8, 20, 20, generator=own) ** 6
    country = torch.randint(0, 8, (count,))
    letters = torch.randint(0, 20, (count, 1))
    for _ in range(8):
        chances = follows[country, letters[:, -1]]
        letters = torch.cat([letters, torch.multinomial(chances, 1)], 1)
    return letters, country


class Speller(nn.Module):
    """A GRU over letters."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(20, 12)
        self.reader = nn.GRU(12, 32, batch_first=True)
        self.answer = nn.Linear(32, 8)

    def forward(self, letters: Tensor) -> Tensor:
        return self.answer(self.reader(self.letters(letters))[1][-1])


@programs.script(
    [faults.MSE_FOR_CLASSES, faults.LOW_RATE],
    "course: one-hot countries and the squared error of a softmax, SGD(0.001) from a blog",
)
def countries_of_surnames(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    letters, country = surnames(3000)
    model = Speller()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 if fixed else 1e-3, momentum=0.9)
    loader = DataLoader(TensorDataset(letters[:2200], country[:2200]), 50, shuffle=True)
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for names, answers in loader:
            outputs = model(names)
            if fixed:
                loss = F.cross_entropy(outputs, answers)
            else:
                loss = F.mse_loss(outputs.softmax(1), F.one_hot(answers, 8).float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(model, letters[2200:]), country[2200:])


BLANK = 0


def lists_of_words(count: int, length: int = 20) -> tuple[Tensor, Tensor]:
    """Return words with blanks behind them, and a tag for each word that needs the one before."""
    words = torch.randint(1, 16, (count, length))
    tag = (words + words.roll(1, 1) * 3) % 5 + 1
    ends = torch.randint(2, 6, (count, 1))
    empty = torch.arange(length) >= ends
    empty[:, 0] = False
    return words.masked_fill(empty, BLANK), tag.masked_fill(empty, BLANK)


class Tagger(nn.Module):
    """A tag for each word from the word and its neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(16, 24)
        self.near = nn.Conv1d(24, 64, 3, padding=1)
        self.tags = nn.Linear(64, 6)

    def forward(self, words: Tensor) -> Tensor:
        near = F.relu(self.near(self.words(words).transpose(1, 2)))
        return self.tags(near.transpose(1, 2))


@programs.script(
    [faults.NO_ZERO_GRAD, BLANKS],
    "issue: no zero_grad, and padding, which is most of the batch, counts in the loss",
)
def tags_of_short_lists(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    words, tags = lists_of_words(1600)
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss(ignore_index=BLANK if fixed else -100)
    doctor = watch(model, optimizer)
    for _epoch in range(16):
        for rows in torch.randperm(1200).split(40):
            if fixed:
                optimizer.zero_grad()
            outputs = model(words[rows])
            loss = criterion(outputs.flatten(0, 1), tags[rows].flatten())
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    answers, truth = predict(model, words[1200:]).argmax(2), tags[1200:]
    kept = (truth != BLANK) & (torch.arange(20) > 0)
    return float((answers == truth)[kept].double().mean())
