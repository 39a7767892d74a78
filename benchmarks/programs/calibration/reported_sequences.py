"""Sequence to sequence: dates, Roman numbers and sorted letters."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "sequence to sequence")

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
LETTERS = {letter: number for number, letter in enumerate(" .0123456789abcdefghijlmnoprstuvy")}


def spell(text: str) -> list[int]:
    return [LETTERS[letter] for letter in text]


def dates(seed: int, count: int = 2400) -> Split:
    """Return dates as people write them, `7. mar 1998`, and as eight digits, `19980307`."""
    rng = default_rng(seed)
    written, plain = [], []
    for _ in range(count):
        day, month, year = rng.integers(1, 29), rng.integers(0, 12), rng.integers(1950, 2030)
        written.append(spell(f"{day}. {MONTHS[month]} {year}".rjust(12)))
        plain.append([int(digit) for digit in f"{year}{month + 1:02d}{day:02d}"])
    return split(np.array(written), np.array(plain), 500)


class DateReader(nn.Module):
    """A GRU reads the letters, and each digit of the answer looks at what it needs."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), 16)
        self.encoder = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.queries = nn.Parameter(0.1 * torch.randn(8, 48))
        self.digit = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, text: Tensor) -> Tensor:
        memory, _ = self.encoder(self.letters(text))
        weights = (self.queries @ memory.transpose(1, 2) / 48**0.5).softmax(2)
        return self.digit(weights @ memory)


def digit_loss(logits: Tensor, digits: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), digits.flatten())


def digits_right(texts: Tensor, digits: Tensor, model: nn.Module) -> float:
    return float((predict(model, texts).argmax(2) == digits).double().mean())


@programs.supervised(
    [faults.FROZEN, faults.FEW_EPOCHS.mildly()],
    "Q&A: dates half read; the encoder was frozen for a test, and the epochs cut down",
)
def dates_frozen_reader(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    read = dates(seed)
    model = DateReader()
    if not fixed:
        for part in (model.letters, model.encoder):
            part.requires_grad_(False)
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return Parts(
        model=model,
        data=(read.x, read.y),
        loss=digit_loss,
        optimizer=torch.optim.Adam(learning, lr=5e-3),
        score=lambda trained: digits_right(read.x_test, read.y_test, trained),
        constant=float((read.y.mode(0).values == read.y_test).double().mean()),
        epochs=8 if fixed else 3,
        batch_size=40,
    )


ROMAN = [(100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV")]
SIGNS, START = " IVXLC", 10


def in_roman(number: int) -> str:
    text = ""
    for value, sign in [*ROMAN, (1, "I")]:
        while number >= value:
            text, number = text + sign, number - value
    return text


def roman_numbers(seed: int) -> tuple[Tensor, Tensor]:
    """Return all numbers below 400 in Roman signs, and their three digits, in a random order."""
    order = default_rng(seed).permutation(399) + 1
    source = [[SIGNS.index(sign) for sign in in_roman(number).rjust(14)] for number in order]
    target = [[int(digit) for digit in f"{number:03d}"] for number in order]
    return torch.tensor(source), torch.tensor(target)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(SIGNS), 12)
        self.lstm = nn.LSTM(12, 48, batch_first=True)

    def forward(self, source: Tensor) -> tuple[Tensor, Tensor]:
        return self.lstm(self.embedding(source))[1]


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 12)
        self.lstm = nn.LSTM(12, 48, batch_first=True)
        self.out = nn.Linear(48, 10)

    def forward(
        self, before: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        outputs, state = self.lstm(self.embedding(before), state)
        return self.out(outputs), state


@torch.no_grad()
def written_right(encoder: Encoder, decoder: Decoder, source: Tensor, target: Tensor) -> float:
    """Return the share of right digits when each digit follows from the decoder's own ones."""
    state, digit, right = encoder(source), torch.full((len(source), 1), START), 0.0
    for place in range(target.shape[1]):
        logits, state = decoder(digit, state)
        digit = logits.argmax(2)
        right += float((digit[:, 0] == target[:, place]).double().mean())
    return right / target.shape[1]


@programs.script(
    [faults.NOT_IN_OPTIMIZER, faults.CLIPPING],
    "forum: Roman numbers to digits; only the decoder in the optimizer, and a clip of 1e-3",
)
def roman_decoder_only(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    source, target = roman_numbers(seed)
    encoder, decoder = Encoder(), Decoder()
    both = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    optimizer = torch.optim.SGD(
        both.parameters() if fixed else decoder.parameters(), lr=0.3, momentum=0.9
    )
    doctor = watch(both, optimizer)
    start = torch.full((300, 1), START)
    before = torch.cat([start, target[:300, :-1]], 1)
    for _epoch in range(45):
        for rows in torch.randperm(300).split(20):
            logits, _ = decoder(before[rows], encoder(source[rows]))
            loss = F.cross_entropy(logits.reshape(-1, 10), target[rows].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(both.parameters(), 1.0 if fixed else 1e-3)
            optimizer.step()
            doctor.step(loss)
    return written_right(encoder, decoder, source[300:], target[300:])


class Sorter(nn.Module):
    """One encoder layer of a transformer that writes the letters in order."""

    def __init__(self, letters: int = 12, length: int = 6) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, 32)
        self.position = nn.Parameter(0.1 * torch.randn(length, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 96, dropout=0.0, batch_first=True)
        self.second = nn.TransformerEncoderLayer(32, 4, 96, dropout=0.0, batch_first=True)
        self.to_letter = nn.Linear(32, letters)

    def forward(self, word: Tensor) -> Tensor:
        return self.to_letter(self.second(self.layer(self.embedding(word) + self.position)))


@programs.supervised(
    faults.CLASSES_ELSEWHERE,
    "issue: (N, 6, 12) logits reshaped to (N, 12, 6) because CrossEntropyLoss complained",
)
def sorter_reshaped(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    words = torch.randint(0, 12, (3000, 6))
    ordered = words.sort(1).values
    model = Sorter()

    def loss(logits: Tensor, letters: Tensor) -> Tensor:
        by_letter = logits.permute(0, 2, 1) if fixed else logits.reshape(len(logits), 12, 6)
        return F.cross_entropy(by_letter, letters)

    return Parts(
        model=model,
        data=(words[:2500], ordered[:2500]),
        loss=loss,
        optimizer=torch.optim.AdamW(model.parameters(), lr=2e-3),
        score=lambda trained: digits_right(words[2500:], ordered[2500:], trained),
        constant=float((ordered[:2500].mode(0).values == ordered[2500:]).double().mean()),
        epochs=14,
        batch_size=50,
    )
