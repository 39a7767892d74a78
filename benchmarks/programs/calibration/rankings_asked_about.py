"""Ranking: films for viewers, hotels in a list, answers to questions, and courses for students."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "ranking")


@dataclass(frozen=True)
class Likes:
    """Who liked what: films that a viewer liked in rows of viewer and film, and all true tastes."""

    seen: Tensor
    tastes: Tensor


def likes(seed: int, viewers: int = 120, films: int = 90) -> Likes:
    """Return what viewers liked of what they saw."""
    rng = default_rng(seed)
    tastes = rng.normal(0, 1, (viewers, 4)) @ rng.normal(0, 1, (4, films))
    tastes += 0.7 * rng.normal(0, 1, films)
    good = tastes > np.quantile(tastes, 0.75, axis=1, keepdims=True)
    rows = np.argwhere(good & (rng.random(tastes.shape) < 0.6))
    return Likes(torch.from_numpy(rows), torch.from_numpy(tastes))


class Factors(nn.Module):
    """The product of a viewer's and a film's factors."""

    def __init__(self, viewers: int, films: int) -> None:
        super().__init__()
        self.viewer = nn.Embedding(viewers, 8)
        self.film = nn.Embedding(films, 8)
        self.bias = nn.Embedding(films, 1)
        nn.init.normal_(self.viewer.weight, std=0.3)
        nn.init.normal_(self.film.weight, std=0.3)
        nn.init.zeros_(self.bias.weight)

    def forward(self, viewer: Tensor, film: Tensor) -> Tensor:
        product: Tensor = (self.viewer(viewer) * self.film(film)).sum(-1)
        return product + self.bias(film).squeeze(-1)


@programs.script(
    faults.WRONG_SIGN,
    "issue: BPR's loss gets to -15 and the films one likes come last; a minus is missing",
)
def films_for_viewers(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = likes(seed)
    model = Factors(120, 90)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5)
    sign = -1 if fixed else 1
    doctor = watch(model, optimizer)
    for _ in range(40):
        for rows in torch.randperm(len(data.seen)).split(64):
            viewer, liked = data.seen[rows].T
            other = torch.randint(0, 90, liked.shape)
            better = model(viewer, liked) - model(viewer, other)
            loss = sign * F.logsigmoid(better).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    with torch.no_grad():
        every = model(torch.arange(120)[:, None], torch.arange(90)[None])
    return in_order(every, data.tastes)


def in_order(scores: Tensor, truth: Tensor) -> float:
    """Return which share of pairs is in the right order in each row: a constant has 0.5."""
    ours = (scores[:, :, None] - scores[:, None]).sign()
    theirs = (truth[:, :, None] - truth[:, None]).sign()
    return float((ours * theirs)[theirs != 0].double().mean() / 2 + 0.5)


def ordered(inputs: Tensor, truth: Tensor) -> Score:
    """Return the score of a model that gives a number to each entry of a list."""
    return lambda model: in_order(predict(model, inputs).nan_to_num(), truth)


def hotels(seed: int, lists: int = 450, each: int = 8) -> tuple[Tensor, Tensor]:
    """Return lists of hotels, and how often they were booked. Each city has its own prices."""
    rng = default_rng(seed)
    city = rng.normal(0, 1, (lists, 1))
    price, stars = rng.normal(0, 1, (lists, each)), rng.integers(1, 6, (lists, each)) - 3
    way, photos = rng.exponential(1, (lists, each)) - 1, rng.normal(0, 1, (lists, each))
    pull = 0.6 * stars - 1.2 * np.abs(price + 0.3) - way * (stars < 1) + photos * (price > 0)
    booked = 2.5 * city + pull + rng.normal(0, 0.3, pull.shape)
    x = np.stack([price, stars / 1.4, way, photos], 2)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(booked, dtype=torch.float32)


class HotelScorer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Dropout(dropout))
        self.last = nn.Linear(48, 1)

    def forward(self, lists: Tensor) -> Tensor:
        scores: Tensor = self.last(self.net(lists)).squeeze(2)
        return scores


@programs.supervised(
    [faults.TEMPERATURE, faults.DROPOUT.mildly()],
    "Q&A: a ListNet of my own orders hotels badly; scores / 100 in the softmax, dropout of 0.9",
)
def hotels_in_a_list(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, booked = hotels(seed)
    warmth = 1.0 if fixed else 100.0
    model = HotelScorer(0.05 if fixed else 0.9)

    def top_one(scores: Tensor, truth: Tensor) -> Tensor:
        return -(truth.softmax(1) * (scores / warmth).log_softmax(1)).sum(1).mean()

    return Parts(
        model=model,
        data=(x[:300], booked[:300]),
        loss=top_one,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9),
        score=ordered(x[300:], booked[300:]),
        constant=0.5,
        epochs=20,
        batch_size=12,
    )


def answers(seed: int, pairs: int) -> tuple[Tensor, Tensor]:
    """Return pairs of answers to a question, and whether the first got more votes."""
    rng = default_rng(seed)
    x = rng.normal(0, 1, (pairs, 2, 6))
    good = x[..., 0] - (x[..., 1] - 0.5) ** 2 + 0.8 * x[..., 2] * (x[..., 3] > 0)
    good += rng.normal(0, 0.25, good.shape)
    first = (good[:, 0] > good[:, 1]).astype(np.float32)
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(first)


class RankNet(nn.Module):
    """How likely the first of two is the better one."""

    def __init__(self, probability: bool) -> None:
        super().__init__()
        self.score = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1))
        self.probability = probability

    def forward(self, pair: Tensor) -> Tensor:
        scores = self.score(pair).squeeze(2)
        difference: Tensor = scores[:, 0] - scores[:, 1]
        return difference.sigmoid() if self.probability else difference


@programs.supervised(
    [faults.SIGMOID_TWICE.mildly(), faults.DECAY.mildly()],
    "forum: RankNet's loss cannot get below 0.5; sigmoid of the difference, then BCEWithLogits",
)
def votes_for_answers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    (x, first), (x_test, first_test) = answers(seed, 1500), answers(seed + 1000, 1000)
    model = RankNet(probability=not fixed)
    decay = 1e-5 if fixed else 0.02
    middle = 0.0 if fixed else 0.5

    def score(trained: nn.Module) -> float:
        return float(((predict(trained, x_test) > middle) == (first_test > 0.5)).double().mean())

    return Parts(
        model=model,
        data=(x, first),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=decay),
        score=score,
        constant=float(max(first_test.mean(), 1 - first_test.mean())),
        epochs=20,
        batch_size=50,
    )


class Towers(nn.Module):
    """A tower for students and one for courses; the scores are products."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.student = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(dropout))
        self.course = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(dropout))
        self.last_student, self.last_course = nn.Linear(64, 16), nn.Linear(64, 16)

    def forward(self, student: Tensor, course: Tensor) -> Tensor:
        left = self.last_student(self.student(student))
        right = self.last_course(self.course(course))
        product: Tensor = (left * right).sum(-1) / 4
        return product


def studies(seed: int, students: int = 400, courses: int = 60) -> tuple[Tensor, Tensor, Tensor]:
    """Return marks of students, contents of courses, and who would like which."""
    rng = default_rng(seed)
    student, course = rng.normal(0, 1, (students, 10)), rng.normal(0, 1, (courses, 8))
    left = np.tanh(student @ rng.normal(0, 0.4, (10, 5)))
    right = np.tanh(course @ rng.normal(0, 0.4, (8, 5)))
    pull = left @ right.T + rng.normal(0, 0.05, (students, courses))
    made = [torch.tensor(each, dtype=torch.float32) for each in (student, course, pull)]
    return made[0], made[1], made[2]


@programs.script(
    [faults.FROZEN.mildly(), faults.DROPOUT.mildly(), faults.CLIPPING.mildly()],
    "issue: a two-tower model with MarginRankingLoss; a tower is still frozen from pretraining",
)
def courses_for_students(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    student, course, pull = studies(seed)
    model = Towers(0.05 if fixed else 0.8)
    if not fixed:
        for part in (model.course, model.last_course):
            part.requires_grad_(False)
    limit = 5.0 if fixed else 0.02
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9)
    criterion = nn.MarginRankingLoss(margin=0.5)
    doctor = watch(model, optimizer)
    for _ in range(500):
        who, a, b = torch.randint(0, 300, (64,)), *torch.randint(0, 60, (2, 64))
        order = (pull[who, a] - pull[who, b]).sign()
        loss = criterion(model(student[who], course[a]), model(student[who], course[b]), order)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        doctor.step(loss)
    model.eval()
    with torch.no_grad():
        every = model(student[300:, None], course[None])
    return in_order(every, pull[300:])
