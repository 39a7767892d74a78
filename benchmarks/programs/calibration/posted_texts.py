"""Texts: recipes by their words, mails to a help desk, headlines and names of villages."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict

programs = ProgramList("calibration", "text")


def recipes(seed: int, count: int = 3600, words: int = 40) -> Split:
    """Return which of 40 words a recipe has, and for which meal it is.

    Most is told by pairs: eggs with sugar are a dessert, eggs with salt are a breakfast.
    """
    rng = default_rng(seed)
    x = rng.random((count, words)) < 0.35
    egg, sugar, rice, hot = (x[:, first : first + 3].any(1) for first in (0, 3, 6, 9))
    meal = np.where(egg ^ sugar, np.where(rice ^ hot, 0, 1), np.where(rice & hot, 2, 3))
    counts = x * rng.integers(1, 3, x.shape)
    counts = (counts - counts.mean(0)) / counts.std(0)
    return split(counts.astype(np.float32), meal, count // 4)


class RecipeNet(nn.Module):
    def __init__(self, activation: nn.Module, end: nn.Module) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(40, 64), nn.Linear(64, 64)
        self.out = nn.Linear(64, 4)
        self.activation, self.end = activation, end

    def forward(self, x: Tensor) -> Tensor:
        x = self.activation(self.fc2(self.activation(self.fc1(x))))
        return self.end(self.out(x))


@programs.supervised(
    [faults.NO_ACTIVATION.mildly(), faults.SOFTMAX_OVER_BATCH],
    "forum: meals from words; Softmax(dim=0) since a warning asked for a dim, linear layers only",
)
def recipe_words(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = recipes(seed)
    activation = nn.ReLU() if fixed else nn.Identity()
    model = RecipeNet(activation, nn.Identity() if fixed else nn.Softmax(dim=0))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=15,
        batch_size=30,
    )


def mails(seed: int, count: int = 2600, length: int = 14) -> Split:
    """Return mails as word numbers, and whether they are urgent.

    'not' (1) turns what follows around, so that order matters.
    """
    rng = default_rng(seed)
    x = rng.integers(30, 90, (count, length))
    urgent = rng.integers(0, 2, count)
    for row, wanted in zip(x, urgent, strict=True):
        for place in rng.choice(np.arange(0, length - 1, 2), 3, replace=False):
            turned = rng.random() < 0.4
            row[place] = 1 if turned else rng.integers(30, 90)
            row[place + 1] = rng.integers(2, 16) + 14 * (wanted ^ turned)
    return split(x, urgent.astype(np.float32)[:, None], count // 4)


class MailLSTM(nn.Module):
    def __init__(self, end: nn.Module) -> None:
        super().__init__()
        self.embedding = nn.Embedding(90, 24)
        self.lstm = nn.LSTM(24, 32, batch_first=True)
        self.fc = nn.Linear(32, 1)
        self.end = end

    def forward(self, words: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embedding(words))
        return self.end(self.fc(hidden.mean(1)))


@programs.supervised(
    faults.SOFTMAX_OF_ONE,
    "Q&A: every mail is urgent with probability 1.0000; nn.Softmax(dim=1) over a single unit",
)
def support_mails(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = mails(seed)
    model = MailLSTM(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    urgent = data.y_test[:, 0].long()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=accuracy(data.x_test, urgent),
        constant=most_frequent(data.y[:, 0].long(), urgent),
        epochs=6,
        batch_size=32,
    )


def headline_texts(seed: int, count: int = 2400, length: int = 10) -> tuple[Tensor, Tensor]:
    """Return headlines of four sections, whose words are shared by two sections each."""
    rng = default_rng(seed)
    section = rng.integers(0, 4, count)
    x = rng.integers(40, 100, (count, length))
    for row, wanted in zip(x, section, strict=True):
        first, second = wanted // 2, wanted % 2
        places = rng.choice(length, 4, replace=False)
        row[places[:2]] = 10 * first + rng.integers(0, 10, 2)
        row[places[2:]] = 20 + 10 * second + rng.integers(0, 10, 2)
    return torch.tensor(x), torch.tensor(section)


class HeadlineNet(nn.Module):
    """A small transformer. `registered` says whether its layers are in a ModuleList."""

    def __init__(self, registered: bool, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.place = nn.Parameter(0.02 * torch.randn(10, 32))
        layers = [
            nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True) for _ in range(2)
        ]
        self.layers = nn.ModuleList(layers) if registered else layers
        self.out = nn.Linear(32, classes)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.out(x.mean(1))


@programs.script(
    [faults.NOT_IN_OPTIMIZER.mildly(), faults.LABELS_FROM_ONE, faults.HIGH_RATE],
    "issue: sections are off by one; labels from 1 with five outputs, a list of layers, Adam(0.05)",
)
def headlines(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    words, section = headline_texts(seed)
    label = section if fixed else section + 1
    model = HeadlineNet(
        registered=fixed,
        classes=4 if fixed else 5,
    )
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=1e-3 if fixed else 0.05,
    )
    doctor = watch(model, optimizer)
    for _epoch in range(6):
        for rows in torch.randperm(1900).split(38):
            loss = F.cross_entropy(model(words[rows]), label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(words[1900:], section[1900:])(model)


SYLLABLES = ["ald", "bor", "cas", "dun", "el", "fen", "gar", "hol", "in", "kirk", "lan", "mor"]
ENDINGS = ["bridge", "by", "ford", "ham", "ton", "wick"]
ALPHABET = " abcdefghijklmnopqrstuvwxyz"


def villages(seed: int, count: int = 1800, length: int = 18) -> Tensor:
    """Return names of villages, one after the other, cut into rows of letters."""
    rng = default_rng(seed)
    text = ""
    while len(text) < count * length:
        text += "".join(rng.choice(SYLLABLES, rng.integers(1, 3))) + rng.choice(ENDINGS) + " "
    numbers = [ALPHABET.index(letter) for letter in text[: count * length]]
    return torch.tensor(numbers).reshape(count, length)


class NameGRU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(ALPHABET), 24)
        self.gru = nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(48, len(ALPHABET))

    def forward(self, letters: Tensor) -> Tensor:
        hidden, _ = self.gru(self.embedding(letters))
        return self.out(hidden).transpose(1, 2)  # letters in the second place, for the loss


@programs.supervised(
    faults.WRONG_SHIFT,
    "forum: names model has 99 % accuracy and writes 'aaaa'; the targets are the letters before",
    repairable=False,
)
def village_names(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    letters = villages(seed)
    now, following = letters[:, 1:-1], letters[:, 2:]
    target = following if fixed else letters[:, :-2]
    train, test = slice(0, 1400), slice(1400, None)
    model = NameGRU()

    def next_letters_right(trained: nn.Module) -> float:
        guess = predict(trained, now[test]).argmax(1)
        return float((guess == following[test]).double().mean())

    return Parts(
        model=model,
        data=(now[train], target[train]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=next_letters_right,
        constant=float((following[test] == letters.flatten().mode().values).double().mean()),
        epochs=8,
        batch_size=35,
    )
