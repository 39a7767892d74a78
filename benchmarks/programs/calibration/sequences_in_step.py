"""From one sequence to another in step: sounds of letters, and chords under a tune."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Score
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "sequence to sequence")


# --- sounds of letters ----------------------------------------------------------------------------

PADDING_COUNTS = Fault(
    "padding counts in the loss",
    ("improper_loss", "class_imbalance", "bad_targets"),
    ("learning_rate_too_low",),
    mild=True,
)


def pronounced(seed: int, count: int = 1500, length: int = 26) -> Split:
    """Return words of 4 to 8 letters and their sounds. A letter sounds as its neighbours say."""
    rng = default_rng(seed)
    alone, changed = rng.permutation(14) + 1, rng.permutation(14) + 1
    letters, sounds = np.zeros((2, count, length), int)
    for word, sound in zip(letters, sounds, strict=True):
        size = rng.integers(4, 9)
        word[:size] = rng.integers(1, 15, size)
        for place in range(size):
            softened = place + 1 < size and word[place + 1] > 9
            silent = place > 0 and word[place] == word[place - 1]
            spoken = changed if softened else alone
            sound[place] = 15 if silent else spoken[word[place] - 1]
    return split(letters, sounds, 400)


class Speaker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(15, 24, padding_idx=0)
        self.lstm = nn.LSTM(24, 40, batch_first=True, bidirectional=True)
        self.sounds = nn.Linear(80, 16)

    def forward(self, word: Tensor) -> Tensor:
        states, _ = self.lstm(self.letters(word))
        logits: Tensor = self.sounds(states)
        return logits.transpose(1, 2)


def sounds_right(words: Tensor, sounds: Tensor) -> Score:
    """Return the share of right sounds of letters. The padding does not count."""

    def score(model: nn.Module) -> float:
        right = predict(model, words).argmax(1) == sounds
        return float(right[sounds > 0].double().mean())

    return score


@programs.supervised(
    [PADDING_COUNTS, faults.LOW_RATE.mildly()],
    "forum: 95 % of the sounds are right, but every word is wrong; all padded to 26 letters",
)
def sounds_of_letters(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = pronounced(seed)
    model = Speaker()
    rate = 0.3 if fixed else 0.03
    sounds = data.y_test[data.y_test > 0]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(ignore_index=0) if fixed else nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
        score=sounds_right(data.x_test, data.y_test),
        constant=float((sounds == data.y[data.y > 0].mode().values).double().mean()),
        epochs=12,
        batch_size=25,
    )


# --- chords under a tune --------------------------------------------------------------------------


def tunes(seed: int, count: int = 900, length: int = 12) -> Split:
    """Return tunes as notes, and a chord for each: it fits the note and follows the last one."""
    rng = default_rng(seed)
    notes, chords = rng.integers(0, 12, (count, length)), np.zeros((count, length), int)
    for place in range(length):
        before = chords[:, place - 1] if place else 0
        chords[:, place] = (notes[:, place] // 2 + (before > 2)) % 6
    return split(notes, chords, 300)


class Harmony(nn.Module):
    """A small network of convolutions that look back, and then a GRU."""

    def __init__(self, log: bool) -> None:
        super().__init__()
        self.notes = nn.Embedding(12, 24)
        self.back = nn.Conv1d(24, 32, 2)
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.chords = nn.Linear(48, 6)
        self.log = log

    def forward(self, tune: Tensor) -> Tensor:
        x = F.pad(self.notes(tune).transpose(1, 2), (1, 0))
        states, _ = self.gru(F.relu(self.back(x)).transpose(1, 2))
        out: Tensor = self.chords(states)
        return out.log_softmax(dim=2) if self.log else out


def chord_loss(out: Tensor, chords: Tensor) -> Tensor:
    return F.nll_loss(out.reshape(-1, 6), chords.reshape(-1))


def chords_right(tunes: Tensor, chords: Tensor) -> Score:
    def score(model: nn.Module) -> float:
        return float((predict(model, tunes).argmax(2) == chords).double().mean())

    return score


@programs.supervised(
    faults.LOGITS_AS_PROBABILITIES, "issue: nll_loss goes to minus thousands, always the same chord"
)
def chords_for_tunes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = tunes(seed)
    model = Harmony(log=fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=chord_loss,
        optimizer=torch.optim.RMSprop(model.parameters(), lr=2e-3),
        score=chords_right(data.x_test, data.y_test),
        constant=float((data.y_test == data.y.mode(0).values).double().mean()),
        epochs=20,
        batch_size=20,
    )
