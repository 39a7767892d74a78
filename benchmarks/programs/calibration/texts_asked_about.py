"""Programs that read short texts, with questions about them: tickets, songs, mails."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.calibration.pictures_asked_about import balanced
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList
from benchmarks.programs.scores import accuracy, frequent_labels, labels_right, most_frequent

programs = ProgramList("calibration", "text")

Numbers = NDArray[np.int64]


def about(
    rng: Generator, topics: Numbers, length: int, words: int, own: int = 15, share: float = 0.2
) -> Numbers:
    """Return texts of word numbers from 1. Each topic has words of its own; the others filler."""
    first = 1 + own * (int(topics.max()) + 1)
    texts = first + (rng.zipf(1.25, (len(topics), length)) - 1) % (words - first)
    telling = rng.random(texts.shape) < share
    stray = rng.random(texts.shape) < 0.2
    topic = np.where(stray, rng.integers(0, topics.max() + 1, texts.shape), topics[:, None])
    mine = 1 + own * topic + rng.integers(0, own, texts.shape)
    return np.asarray(np.where(telling, mine, texts), np.int64)


# --- tickets of a help desk -----------------------------------------------------------------------


def tickets(seed: int, lower: bool, count: int = 2200) -> Split:
    """Return tickets in capital letters for six teams, looked up in a vocabulary of small ones."""
    rng = default_rng(seed)
    y = rng.integers(0, 6, count)
    numbers = about(rng, y, 22, 400)
    vocabulary = {"<unk>": 0} | {f"word{number}": number for number in range(1, 400)}
    rows = []
    for ticket in numbers:
        tokens = [f"WORD{number}" for number in ticket]
        rows.append([vocabulary.get(each.lower() if lower else each, 0) for each in tokens])
    return split(np.array(rows), y, 700)


class TicketReader(nn.Module):
    """Convolutions of two widths over the words, and the strongest answer of each."""

    def __init__(self, words: int, classes: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 24)
        self.pairs = nn.Conv1d(24, 32, 2)
        self.threes = nn.Conv1d(24, 32, 3)
        self.fc = nn.Linear(64, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens).transpose(1, 2)
        found = [torch.relu(conv(x)).amax(dim=2) for conv in (self.pairs, self.threes)]
        logits: Tensor = self.fc(torch.cat(found, dim=1))
        return logits


@programs.supervised(
    faults.CONSTANT_INPUTS, "Q&A: text CNN always answers one team; the tickets are in CAPITALS"
)
def help_desk(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = tickets(seed, lower=fixed)
    model = TicketReader(400, 6)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=10,
        batch_size=30,
    )


# --- spam in two columns --------------------------------------------------------------------------


def messages(seed: int, count: int = 2400) -> Split:
    """Return text messages: 0 for those from people and 1 for those from machines."""
    rng = default_rng(seed)
    y = rng.integers(0, 2, count)
    return split(about(rng, y, 16, 300, own=25, share=0.22), y, 800)


class MessageReader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(300, 20)
        self.gru = nn.GRU(20, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.gru(self.embedding(tokens))
        logit: Tensor = self.out(states.mean(dim=1))
        return logit.squeeze(1)


@programs.supervised(
    faults.LABELS_FROM_ONE, "forum: negative BCE loss, everything is spam; the file says 1 and 2"
)
def spam_one_or_two(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = messages(seed)
    column = data.y + 1  # 1 = ham, 2 = spam
    labels = (column - 1 if fixed else column).float()
    model = MessageReader()
    return Parts(
        model=model,
        data=(data.x, labels),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=2e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=7,
        batch_size=32,
    )


# --- songs and their moods ------------------------------------------------------------------------


def songs(seed: int, count: int = 2100, moods: int = 7) -> Split:
    """Return lines of songs, and which of seven moods they have. Most have two or three."""
    rng = default_rng(seed)
    y = (rng.random((count, moods)) < 0.33).astype(np.float32)
    x = 1 + 12 * moods + (rng.zipf(1.3, (count, 26)) - 1) % 200
    for row, has in zip(x, y, strict=True):
        for mood in np.flatnonzero(has):
            places = rng.integers(0, 26, 3)
            row[places] = 1 + 12 * mood + rng.integers(0, 12, 3)
    return split(x, y, 700)


def mood_net(end: nn.Module) -> nn.Sequential:
    return nn.Sequential(
        nn.EmbeddingBag(285, 32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 7), end
    )


@programs.supervised(
    [faults.SOFTMAX_FOR_TAGS.mildly(), faults.FEW_EPOCHS.mildly()],
    "course: moods of songs, softmax and BCELoss, the best mood is never above 0.3",
)
def moods_of_songs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = songs(seed)
    model = mood_net(nn.Sigmoid() if fixed else nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=15 if fixed else 3,
        batch_size=40,
    )


# --- urgent mails ---------------------------------------------------------------------------------


def mails(seed: int, count: int = 3300) -> Split:
    """Return mails, of which one in eight is urgent."""
    rng = default_rng(seed)
    y = (rng.random(count) < 0.125).astype(int)
    return split(about(rng, y, 18, 300, own=25, share=0.22), y, 1100)


@programs.supervised(
    [faults.WEIGHTS_UPSIDE_DOWN, faults.FEW_EPOCHS.mildly()],
    "Q&A: a weighted loss finds fewer urgent mails than without weights, after two epochs",
)
def urgent_mails(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = mails(seed)
    counts = torch.bincount(data.y).float()
    weight = counts.sum() / (2 * counts) if fixed else 2 * counts / counts.sum()
    model = TicketReader(300, 2)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(weight=weight),
        optimizer=torch.optim.Adagrad(model.parameters(), lr=0.01),
        score=balanced(data.x_test, data.y_test),
        constant=0.5,
        epochs=10 if fixed else 2,
        batch_size=50,
    )


# --- stars of hotels ------------------------------------------------------------------------------


NO_LOGARITHM = Fault(
    "probabilities where the loss wants logarithms", ("improper_output", "improper_loss"), mild=True
)


class HotelReader(nn.Module):
    """Self-attention over the words, then their mean."""

    def __init__(self, width: int, log: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(320, width), nn.Embedding(15, width)
        self.attention = nn.MultiheadAttention(width, 1, batch_first=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 5)
        self.end = nn.LogSoftmax(dim=1) if log else nn.Softmax(dim=1)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places(torch.arange(15))
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        answers: Tensor = self.end(self.head(x.mean(dim=1)))
        return answers


@programs.supervised(
    [NO_LOGARITHM, faults.SMALL.mildly(), faults.LOW_RATE.mildly()],
    "issue: attention for hotel reviews with NLLLoss; the loss is -0.3 and the stars are all 5",
)
def stars_of_hotels(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    y = rng.choice(5, 2300, p=[0.1, 0.1, 0.2, 0.3, 0.3])
    data = split(about(rng, y, 15, 320, share=0.3), y, 700)
    width = 32 if fixed else 3
    rate = 2e-3 if fixed else 4e-4
    model = HotelReader(width, log=fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=rate),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=8,
        batch_size=32,
    )
