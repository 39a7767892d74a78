"""Ranking and several labels at once, as people post them in threads and issues."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.programs import faults
from benchmarks.programs.data import split
from benchmarks.programs.program import Parts, ProgramList, Score
from benchmarks.programs.scores import frequent_labels, labels_right, predict

programs = ProgramList("calibration", "ranking")


def in_order(inputs: Tensor, grades: Tensor) -> Score:
    """Return the share of pairs of documents of a query that are in the right order."""

    def score(model: nn.Module) -> float:
        scores = predict(model, inputs)
        better = grades[:, :, None] > grades[:, None, :]
        right = scores[:, :, None] > scores[:, None, :]
        return float(right[better].double().mean())

    return score


class Grader(nn.Module):
    """Scores the documents of a query, each for itself."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(features, 48), nn.ReLU()),
            *(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return queries x documents."""
        scores: Tensor = self.layers(x).squeeze(-1)
        return scores


@programs.supervised(
    faults.SOFTMAX_OVER_BATCH.mildly(),
    "issue: a listwise loss by hand, the order is hardly better than that of one feature",
)
def search_results(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    queries, documents = 420, 12
    shape = (queries, documents)
    match, fresh, links = (rng.normal(0, 1, shape) for _ in range(3))
    worth = match + 0.8 * np.tanh(2 * fresh) + 0.5 * links + rng.normal(0, 0.2, shape)
    grades = np.digitize(worth, [-0.9, 0.4, 1.4]).astype(np.float32)
    ease = rng.normal(0, 2.5, (queries, 1))  # some words match everywhere
    noise = rng.normal(0, 1, (queries, documents, 3))
    columns = np.stack([match + ease, fresh, links + 0.5 * ease], 2)
    data = split(np.concatenate([columns, noise], 2), grades, 120)
    over = 1 if fixed else 0

    def listwise(scores: Tensor, relevance: Tensor) -> Tensor:
        wanted = functional.softmax(relevance, dim=1)
        return -(wanted * functional.log_softmax(scores, dim=over)).sum(1).mean()

    model = Grader(6)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=listwise,
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=in_order(data.x_test, data.y_test),
        constant=0.5,
        epochs=60,
        batch_size=16,
    )


class Towers(nn.Module):
    """Two towers whose outputs are compared, each question with each answer of the batch."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.question = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16))
        self.answer = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """Return questions x answers."""
        asked = functional.normalize(self.question(x[:, :30]), dim=1)
        answers = functional.normalize(self.answer(x[:, 30:]), dim=1)
        return asked @ answers.T * self.scale


def own_answer(logits: Tensor, _: Tensor) -> Tensor:
    """Return the loss with the other answers of the batch as wrong ones."""
    return functional.cross_entropy(logits, torch.arange(len(logits)))


def reciprocal_rank(inputs: Tensor) -> Score:
    """Return the mean of 1 / rank of the right answer."""

    def score(model: nn.Module) -> float:
        scores = predict(model, inputs)
        above = (scores > scores.diagonal()[:, None]).sum(1)
        return float((1 / (1 + above.double())).mean())

    return score


@programs.supervised(
    [faults.TEMPERATURE.mildly(), faults.FROZEN.mildly()],
    "issue: the contrastive loss stays near log(batch size); multiplied by the temperature",
)
def question_to_answer(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    count = 1500
    topic = rng.normal(0, 1, (count, 8))
    asked = np.tanh(topic @ rng.normal(0, 0.5, (8, 30))) + rng.normal(0, 0.25, (count, 30))
    told = np.tanh(topic @ rng.normal(0, 0.5, (8, 40))) + rng.normal(0, 0.25, (count, 40))
    data = split(np.concatenate([asked, told], 1), np.arange(count), 300)
    temperature = 0.07
    model = Towers(1 / temperature if fixed else temperature)
    if not fixed:  # "the encoder of the answers is fine as it is"
        model.answer.requires_grad_(False)
    trained = [each for each in model.parameters() if each.requires_grad]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=own_answer,
        optimizer=torch.optim.AdamW(trained, lr=2e-3),
        score=reciprocal_rank(data.x_test),
        constant=float(np.mean(1 / np.arange(1, 301))),
        epochs=30,
        batch_size=64,
    )


def balanced(inputs: Tensor, labels: Tensor) -> Score:
    """Return the mean, over tags, of the recall of those that hold and of those that do not."""

    def score(model: nn.Module) -> float:
        said, holds = predict(model, inputs) > 0, labels > 0.5
        found = (said & holds).sum(0) / holds.sum(0).clamp(min=1)
        passed = (~said & ~holds).sum(0) / (~holds).sum(0).clamp(min=1)
        return float(((found + passed) / 2).double().mean())

    return score


@programs.supervised(
    faults.WEIGHTS_UPSIDE_DOWN,
    "issue: rare tags of support tickets, F1 is 0 although pos_weight is set",
    kind="multi-label",
)
def ticket_tags(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    count, words, tags = 2400, 80, 10
    holds = rng.random((count, tags)) < rng.uniform(0.04, 0.12, tags)
    telling = rng.gamma(0.35, 1.6, (tags, words)) * (rng.random((tags, words)) < 0.15)
    counts = rng.poisson(0.12 + holds @ telling)
    data = split(np.log1p(counts).astype(np.float32), holds.astype(np.float32), 800)
    often = data.y.sum(0)
    rare = len(data.y) - often
    weight = rare / often if fixed else often / rare
    model = nn.Sequential(nn.Linear(words, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, tags))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCEWithLogitsLoss(pos_weight=weight),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4),
        score=balanced(data.x_test, data.y_test),
        constant=0.5,
        epochs=25,
        batch_size=32,
    )


class Stickers(nn.Module):
    """A small CNN that looks for each sticker anywhere in the picture."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Return a logit for each sticker."""
        x = functional.relu(self.conv1(x))
        x = functional.relu(self.conv2(x))
        answer: Tensor = self.fc(x.amax((2, 3)))
        return answer


STICKERS = np.array(
    [
        [[1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]],
        [[1, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1]],
        [[0, 1, 1, 0], [1, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 0]],
        [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]],
        [[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0]],
    ]
)


@programs.supervised(
    [faults.SOFTMAX_FOR_TAGS, faults.LARGE_START],
    "forum: CrossEntropyLoss took the multi-hot rows without complaint; own weights_init",
    kind="multi-label",
)
def stickers_on_a_box(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    count = 1300
    holds = rng.random((count, 5)) < 0.4
    x = rng.normal(0, 0.25, (count, 1, 12, 18))
    for picture, tags in zip(x, holds, strict=True):
        places = rng.permutation(12)
        for place, tag in zip(places, np.flatnonzero(tags), strict=False):
            down, along = (place // 4) * 4, (place % 4) * 4 + rng.integers(0, 3)
            picture[0, down : down + 4, along : along + 4] += STICKERS[tag]
    data = split(x.astype(np.float32), holds.astype(np.float32), 400)
    model = Stickers()
    loss = nn.BCEWithLogitsLoss() if fixed else nn.CrossEntropyLoss()
    if not fixed:
        for layer in (model.conv1, model.conv2, model.fc):
            nn.init.normal_(layer.weight, 0.0, 1.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=loss,
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=15,
        batch_size=32,
    )
