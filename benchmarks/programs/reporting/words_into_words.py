"""From one sequence to another: mirrored words, dialects, and the level of a river."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import predict, r_squared

programs = ProgramList("reporting", "sequence to sequence")


def steps_right(inputs: Tensor, answers: Tensor, real: Tensor) -> Score:
    """Return the share of right answers where `real` holds. Classes come second in outputs."""

    def score(model: nn.Module) -> float:
        return float((predict(model, inputs).argmax(1) == answers)[real].double().mean())

    return score


# --- mirrored words -------------------------------------------------------------------------------

OVER_BATCH = Fault(
    "attention runs over the batch", ("mixed_samples", "not_learning"), ("overfitting",)
)


class Mirror(nn.Module):
    """A transformer that sees a whole word and writes one letter for each place."""

    def __init__(self, batch_first: bool, letters: int = 12) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, 32)
        self.places = nn.Parameter(torch.randn(7, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=batch_first)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(32, letters)

    def forward(self, word: Tensor) -> Tensor:
        states = self.layers(self.letters(word) + self.places)
        out: Tensor = self.out(states)
        return out.transpose(1, 2)


def mirrored(seed: int, count: int = 1600, length: int = 7) -> Split:
    """Return words, and the same read from the end."""
    words = default_rng(seed).integers(0, 12, (count, length))
    return split(words, words[:, ::-1].copy(), 400)


@programs.supervised(
    [OVER_BATCH, faults.HIGH_RATE],
    "issue: a transformer cannot even mirror a word; no batch_first=True, Adam(lr=0.1)",
)
def mirrored_words(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = mirrored(seed)
    model = Mirror(batch_first=fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3 if fixed else 0.1),
        score=steps_right(data.x_test, data.y_test, torch.ones_like(data.y_test, dtype=torch.bool)),
        constant=1 / 12,
        epochs=9,
        batch_size=25,
    )


# --- a dialect ------------------------------------------------------------------------------------

CLASS_IGNORED = Fault(
    "ignore_index hides a real class",
    ("improper_loss", "bad_targets"),
    ("class_imbalance", "overfitting"),
    mild=True,
)


class Dialect(nn.Module):
    def __init__(self, sounds: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(sounds + 1, 20)
        self.gru = nn.GRU(20, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, sounds + 1)

    def forward(self, phrase: Tensor) -> Tensor:
        states, _ = self.gru(self.embed(phrase))
        out: Tensor = self.out(states)
        return out.transpose(1, 2)


def dialect(seed: int, count: int = 1100, length: int = 12) -> Split:
    """Return phrases of 10 sounds and how a village says them. 10 fills up short phrases."""
    rng = default_rng(seed)
    phrases, said = np.full((2, count, length), 10)
    habit = rng.permutation(10)
    for phrase, spoken in zip(phrases, said, strict=True):
        size = rng.integers(6, length + 1)
        phrase[:size] = rng.integers(0, 10, size)
        for place in range(size):
            dropped = place > 0 and phrase[place - 1] > 7
            spoken[place] = 0 if dropped else habit[phrase[place]]
    return split(phrases, said, 300)


@programs.supervised(
    [CLASS_IGNORED, faults.LOW_RATE.mildly()],
    "forum: one sound never comes; ignore_index=0 from a tutorial, where 0 was the padding; slow",
)
def dialect_of_a_village(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = dialect(seed)
    model = Dialect(10)
    real = data.y_test < 10
    often = data.y[data.y < 10].mode().values
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(ignore_index=10 if fixed else 0),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=3e-3 if fixed else 1e-4),
        score=steps_right(data.x_test, data.y_test, real),
        constant=float((data.y_test[real] == often).double().mean()),
        epochs=6,
        batch_size=20,
    )


# --- the level of a river -------------------------------------------------------------------------


def river(seed: int, count: int = 700, past: int = 14, later: int = 6) -> Split:
    """Return rain and levels of a river in cm over 14 hours, and the levels of the next 6."""
    rng = default_rng(seed)
    hours = past + later
    rain = rng.gamma(0.5, 2, (count, hours)) * (rng.random((count, hours)) < 0.3)
    level = np.zeros((count, hours))
    level[:, 0] = rng.uniform(150, 420, count)
    for hour in range(1, hours):
        flow = 0.1 * (level[:, hour - 1] - 140)
        level[:, hour] = level[:, hour - 1] - flow + 14 * rain[:, max(0, hour - 3)]
    level += rng.normal(0, 2, level.shape)
    x = np.stack([rain[:, :past] / 2, (level[:, :past] - 260) / 90], 2)
    return split(x.astype(np.float32), level[:, past:].astype(np.float32), count // 3)


class Hydrologist(nn.Module):
    """Read the past, then write one hour after the other from the hidden state."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = nn.GRU(2, 32, batch_first=True)
        self.writer = nn.GRUCell(1, 32)
        self.level = nn.Linear(32, 1)

    def forward(self, past: Tensor, truth: Tensor | None = None, hours: int = 6) -> Tensor:
        _, state = self.reader(past)
        state, last = state[0], past[:, -1, 1:]
        levels = list[Tensor]()
        for hour in range(hours):
            state = self.writer(last, state)
            levels.append(self.level(state))
            last = levels[-1]
            if truth is not None and hour % 2:
                last = truth[:, hour, None]
        return torch.cat(levels, 1)


@programs.script(
    [faults.RAW_TARGETS, faults.SUM],
    "Q&A: my encoder-decoder draws one line for every flood; inputs scaled, a sum of squares",
)
def level_of_a_river(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = river(seed)
    shift, scale = (260.0, 90.0) if fixed else (0.0, 1.0)
    goal = (data.y - shift) / scale
    net = Hydrologist()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    doctor = watch(net, optimizer)
    for _epoch in range(14):
        for rows in torch.randperm(len(goal)).split(24):
            guess = net(data.x[rows], goal[rows])
            error = (guess - goal[rows]) ** 2
            loss = error.mean() if fixed else error.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        held = predict(net, data.x_test) * scale + shift
        doctor.epoch(val_loss=float(F.mse_loss(held, data.y_test)))
    return r_squared(predict(net, data.x_test) * scale + shift, data.y_test)
