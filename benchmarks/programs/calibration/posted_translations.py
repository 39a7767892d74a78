"""From one sequence to another: times on a clock, and sums of a shopping list."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "sequence to sequence")

HOURS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
HOURS.append("twelve")
SAID = ["half past", "quarter past", "quarter to", "ten past", "ten to", "five past", "five to"]
MINUTES = [30, 15, -15, 10, -10, 5, -5]
WORDS = {word: number for number, word in enumerate(["", *" ".join([*HOURS, *SAID]).split()])}
PARTS = ["at", "around", "about", "shortly", "say", "maybe", "sharp", "then", "please", "again"]
WORDS |= {word: 40 + number for number, word in enumerate(PARTS)}


def clocks(seed: int, count: int = 2200, length: int = 7) -> tuple[Tensor, Tensor]:
    """Return times as people say them, 'at quarter to nine then', and as 0845."""
    rng = default_rng(seed)
    said, shown = [], []
    for _ in range(count):
        hour, minutes = rng.integers(0, 12), rng.integers(len(SAID))
        words = [*SAID[minutes].split(), HOURS[hour]]
        while len(words) < length:
            words.insert(rng.choice([0, len(words)]), PARTS[rng.integers(len(PARTS))])
        total = (60 * (hour + 1) + MINUTES[minutes]) % 720
        said.append([WORDS[word] for word in words])
        shown.append([int(digit) for digit in f"{total // 60:02d}{total % 60:02d}"])
    return torch.tensor(said), torch.tensor(shown)


class ClockReader(nn.Module):
    """A GRU reads the words, and another writes four digits."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 24)
        self.encoder = nn.GRU(24, 48, batch_first=True, bidirectional=True)
        self.digits = nn.Embedding(4, 24)
        self.decoder = nn.GRU(24, 96, batch_first=True)
        self.hidden, self.out = nn.Linear(96, 64), nn.Linear(64, 10)

    def forward(self, said: Tensor) -> Tensor:
        _, state = self.encoder(self.words(said))
        state = torch.cat([state[0], state[1]], dim=1).unsqueeze(0)
        places = self.digits(torch.arange(4)).expand(len(said), 4, 24)
        hidden, _ = self.decoder(places, state)
        return self.out(F.relu(self.hidden(hidden)))


@programs.script(
    [faults.CLASSES_ELSEWHERE, faults.DEAD_RELU],
    "Q&A: the clock shows nonsense; logits.view(N, 10, 4) for the loss, a bias that starts at -10",
)
def clock_times(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    said, shown = clocks(seed)
    model = ClockReader()
    if not fixed:
        nn.init.constant_(model.hidden.bias, -10.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(1700).split(34):
            logits = model(said[rows])
            by_class = logits.transpose(1, 2) if fixed else logits.reshape(-1, 10, 4)
            loss = criterion(by_class, shown[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            doctor.step(loss)
    guess = predict(model, said[1700:]).argmax(2)
    return float((guess == shown[1700:]).double().mean())


def baskets(seed: int, count: int = 3000, length: int = 8) -> tuple[Tensor, Tensor]:
    """Return the prices of things put into a basket, and what the till shows after each."""
    rng = default_rng(seed)
    price = rng.integers(0, 10, (count, length))
    special = rng.random((count, length)) < 0.2
    paid = np.where(special, 0, price)  # a voucher makes the thing free
    shown = np.cumsum(paid, 1) % 10
    return torch.tensor(price + 10 * special), torch.tensor(shown)


class Till(nn.Module):
    """An LSTM over the things. It wants the time first, as it was written years ago."""

    def __init__(self, turn: bool) -> None:
        super().__init__()
        self.things = nn.Embedding(20, 32)
        self.lstm = nn.LSTM(32, 64)
        self.out = nn.Linear(64, 10)
        self.turn = turn

    def forward(self, things: Tensor) -> Tensor:
        x = self.things(things)
        count, length, width = x.shape
        x = x.transpose(0, 1) if self.turn else x.reshape(length, count, width)
        hidden, _ = self.lstm(x)
        back = hidden.transpose(0, 1) if self.turn else hidden.reshape(count, length, -1)
        return self.out(back)


def till_loss(logits: Tensor, shown: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), shown.flatten())


def till_error(output: Tensor, shown: Tensor) -> Tensor:
    return F.mse_loss(output, F.one_hot(shown, 10).float())


@programs.supervised(
    [faults.MIXED_SAMPLES, faults.MSE_FOR_CLASSES.mildly()],
    "forum: the LSTM wants (time, batch), so x.view(length, batch, -1) it was; MSELoss of digits",
    repairable=False,
)
def shopping_sums(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    things, shown = baskets(seed)
    model = Till(turn=fixed)

    def digits_on_the_till(trained: nn.Module) -> float:
        guess = predict(trained, things[2500:]).argmax(2)
        return float((guess == shown[2500:]).double().mean())

    return Parts(
        model=model,
        data=(things[:2500], shown[:2500]),
        loss=till_loss if fixed else till_error,
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=digits_on_the_till,
        constant=float((shown[2500:] == shown[:2500].mode(0).values).double().mean()),
        epochs=12,
        batch_size=50,
    )
