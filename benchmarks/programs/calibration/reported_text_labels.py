"""Text with labels: parts of speech, teams for tickets, and tags of questions."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList
from benchmarks.programs.scores import (
    accuracy,
    frequent_labels,
    labels_right,
    most_frequent,
    predict,
)

programs = ProgramList("calibration", "text")

PADDING = Fault("padding counted in the loss", ("improper_loss", "bad_targets", "class_imbalance"))


def sentences(seed: int, count: int = 1500, length: int = 24) -> Split:
    """Return short sentences padded with 0, and the part of speech of each word.

    Some words are a noun after an article and a verb after a pronoun. Class 0 is padding.
    """
    rng = default_rng(seed)
    article, pronoun, noun, verb, adjective = 1, 2, 3, 4, 5
    first = {article: 1, pronoun: 5, noun: 12, verb: 40, adjective: 68}  # numbers of the words
    many = {article: 4, pronoun: 7, noun: 28, verb: 28, adjective: 30}
    orders = [
        [article, noun, verb],
        [pronoun, verb, article, noun],
        [article, adjective, noun, verb],
        [pronoun, verb, article, adjective, noun],
        [pronoun, verb, pronoun],
    ]
    words = np.zeros((count, length), np.int64)
    speech = np.zeros((count, length), np.int64)
    for row, answer in zip(words, speech, strict=True):
        kinds = orders[rng.integers(len(orders))]
        for place, kind in enumerate(kinds):
            shared = kind in (noun, verb) and rng.random() < 0.6
            row[place] = 98 + rng.integers(22) if shared else first[kind] + rng.integers(many[kind])
            answer[place] = kind
    return split(words, speech, 500)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(120, 20, padding_idx=0)
        self.lstm = nn.LSTM(20, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 6)

    def forward(self, words: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embedding(words))
        return self.out(hidden).transpose(1, 2)  # (sentences, tags, words), as the loss wants it


@programs.supervised(
    [PADDING.mildly(), faults.LOW_RATE.mildly()],
    "Q&A: accuracy is 0.95, but the tags of real words are poor; no ignore_index, and lr=5e-4",
)
def tagger_learns_padding(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    corpus = sentences(seed)
    model = Tagger()
    word = corpus.y_test > 0

    def score(trained: nn.Module) -> float:
        right = predict(trained, corpus.x_test).argmax(1) == corpus.y_test
        return float(right[word].double().mean())

    return Parts(
        model=model,
        data=(corpus.x, corpus.y),
        loss=nn.CrossEntropyLoss(ignore_index=0 if fixed else -100),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3 if fixed else 5e-4),
        score=score,
        constant=most_frequent(corpus.y[corpus.y > 0], corpus.y_test[word]),
        epochs=12,
        batch_size=25,
    )


def tickets(seed: int, count: int = 4800, words: int = 40) -> Split:
    """Return support tickets as counts of words, and the team they went to. Half go to billing."""
    rng = default_rng(seed)
    y = rng.choice(5, count, p=[0.52, 0.26, 0.12, 0.06, 0.04])
    usual = default_rng(7).dirichlet(np.ones(words), 5) + 0.02
    usual /= usual.sum(1, keepdims=True)
    x = np.stack([rng.multinomial(rng.integers(6, 14), usual[team]) for team in y])
    return split(x.astype(np.float32), y, 1200)


@programs.supervised(
    [faults.SOFTMAX_OVER_BATCH, faults.DEAD_RELU.mildly()],
    "issue: tickets go to the wrong team; log_softmax(x, dim=0), and biases that start at -1.5",
)
def tickets_softmax_over_batch(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    desk = tickets(seed).standardised()
    first = nn.Linear(40, 16)
    if not fixed:
        nn.init.constant_(first.bias, -1.5)
    model = nn.Sequential(first, nn.ReLU(), nn.Linear(16, 5), nn.LogSoftmax(dim=1 if fixed else 0))
    return Parts(
        model=model,
        data=(desk.x, desk.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4),
        score=accuracy(desk.x_test, desk.y_test),
        constant=most_frequent(desk.y, desk.y_test),
        epochs=9,
        batch_size=64,
        validation=(desk.x_test, desk.y_test),
    )


def questions(seed: int, count: int = 2400, length: int = 16) -> Split:
    """Return questions of a forum as word numbers, and which of 8 tags they have."""
    rng = default_rng(seed)
    y = (rng.random((count, 8)) < 0.3).astype(np.float32)
    x = rng.integers(81, 150, (count, length))
    for row, tags in zip(x, y, strict=True):
        places = rng.permutation(length)
        for place, tag in zip(places, np.repeat(np.flatnonzero(tags), 2), strict=False):
            row[place] = 1 + 10 * tag + rng.integers(0, 10)
    return split(x, y, 600)


class Tags(nn.Module):
    def __init__(self, hidden: int, softmax: bool) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(150, 24, mode="sum")
        self.hidden = nn.Linear(24, hidden)
        self.head = nn.Linear(hidden, 8)
        self.softmax = softmax

    def forward(self, tokens: Tensor) -> Tensor:
        logits = self.head(torch.tanh(self.hidden(self.bag(tokens))))
        return logits.softmax(1) if self.softmax else logits.sigmoid()


@programs.supervised(
    [faults.SOFTMAX_FOR_TAGS, faults.SMALL.mildly()],
    "Q&A: one question, several tags: softmax with BCELoss behind a layer of 2 units",
)
def forum_tags(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    asked = questions(seed)
    model = Tags(hidden=32 if fixed else 2, softmax=not fixed)
    return Parts(
        model=model,
        data=(asked.x, asked.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=labels_right(asked.x_test, asked.y_test),
        constant=frequent_labels(asked.y, asked.y_test),
        epochs=14,
        batch_size=40,
    )
