"""Simple models that are fitted in a moment: ridge, nearest neighbours and a small network.

Each is fitted to rows of features `x` and of answers `y`, and returns a function that answers for
other rows. Answers are shares from 0 to 1 of classes or of yes, or standardised values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

Kind = Literal["classes", "answers", "values"]
Answer: TypeAlias = Callable[[Tensor], Tensor]
Fit: TypeAlias = Callable[[Tensor, Tensor, Kind], Answer]

PENALTY = 0.03  # of ridge, by the number of samples
NEIGHBOURS = 5
WIDTH, STEPS, BATCH = 64, 300, 128  # of the network
RATE, DECAY = 1e-2, 1e-2


def ridge(x: Tensor, y: Tensor, kind: Kind) -> Answer:
    """Fit a linear model with a penalty on its weights.

    >>> x = torch.linspace(-1, 1, 9)[:, None]
    >>> round(ridge(x, 2 * x, "values")(torch.tensor([[1.0]])).item(), 1)
    1.9
    """
    mean, centre = y.double().mean(0), x.double().mean(0)
    x, y = x.double() - centre, y.double() - mean
    penalty = PENALTY * len(x) * x.square().mean().clamp(min=1e-12)
    if x.shape[1] <= len(x):
        weights = torch.linalg.solve(x.T @ x + penalty * torch.eye(x.shape[1]).double(), x.T @ y)
    else:
        weights = x.T @ torch.linalg.solve(x @ x.T + penalty * torch.eye(len(x)).double(), y)

    def answer(rows: Tensor) -> Tensor:
        return within(((rows.double() - centre) @ weights + mean).float(), kind)

    return answer


def neighbours(x: Tensor, y: Tensor, kind: Kind) -> Answer:
    """Answer with the mean of the nearest samples."""

    def answer(rows: Tensor) -> Tensor:
        nearest = torch.cdist(rows, x).topk(min(NEIGHBOURS, len(x)), largest=False).indices
        return within(y[nearest].mean(1), kind)

    return answer


def network(x: Tensor, y: Tensor, kind: Kind) -> Answer:
    """Train two small hidden layers with usual settings. Random numbers come from outside."""
    model = nn.Sequential(
        nn.Linear(x.shape[1], WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, WIDTH), nn.ReLU(),
        nn.Linear(WIDTH, y.shape[1]),
    )  # fmt: skip
    losses = {"classes": nn.CrossEntropyLoss(), "answers": nn.BCEWithLogitsLoss()}
    train(model, x, y, losses.get(kind, nn.MSELoss()))

    def answer(rows: Tensor) -> Tensor:
        outputs: Tensor = model(rows)
        if kind == "values":
            return outputs
        return outputs.softmax(1) if kind == "classes" else outputs.sigmoid()

    return answer


def train(model: nn.Module, x: Tensor, y: Tensor, loss: nn.Module, batch: int = BATCH) -> None:
    """Train a small model for a moment, with usual settings."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    with torch.enable_grad():
        for step in range(STEPS):
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
            rows = torch.randint(len(x), (batch,)) if len(x) > batch else slice(None)
            optimizer.zero_grad()
            loss(model(x[rows]), y[rows]).backward()
            optimizer.step()


def within(answers: Tensor, kind: Kind) -> Tensor:
    """Return shares as such: from 0 to 1."""
    return answers if kind == "values" else answers.clamp(0, 1)


def quality(answers: Tensor, right: Tensor, kind: Kind) -> float:
    """Return how good answers are; higher is better.

    >>> quality(torch.tensor([[0.9, 0.1], [0.8, 0.2]]), torch.eye(2), "classes")
    0.5
    """
    if kind == "values":
        return -float((answers - right).square().mean())
    if kind == "classes":
        return float((answers.argmax(1) == right.argmax(1)).double().mean())
    return float(((answers > 0.5) == (right > 0.5)).double().mean())


def best(
    x: Tensor, y: Tensor, kind: Kind, fits: tuple[Fit, ...], judged: int
) -> tuple[Answer, float]:
    """Return the best model and its quality, judged on the last rows, then fitted to all of them.

    With `judged` of 0, it is judged on the rows that it is fitted to.
    """
    kept = len(x) - judged
    scores = []
    for fit in fits:
        answer = fit(x[:kept], y[:kept], kind)
        rows = slice(kept, None) if judged else slice(None)
        scores.append(quality(answer(x[rows]), y[rows], kind))
    top = max(scores, key=lambda each: (each == each, each))
    return fits[scores.index(top)](x, y, kind), top
