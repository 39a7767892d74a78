"""From one sequence to another: sorted hands, spoken dates, chemistry, tunes, codes."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, ProgramList, Watch

programs = ProgramList("calibration", "sequence to sequence")

START = 0  # opens each written sequence


# --- cards sorted by a transformer ----------------------------------------------------------------

NO_MASK = Fault("no causal mask", ("target_leak",), ("overfitting", "improper_loss"))


def hands(seed: int, count: int = 1600, length: int = 6) -> tuple[Tensor, Tensor]:
    """Return cards as they were dealt, from 1 to 12, and the same cards in order."""
    dealt = default_rng(seed).integers(1, 13, (count, length))
    return torch.tensor(dealt), torch.tensor(np.sort(dealt, axis=1))


class CardSorter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cards, self.places = nn.Embedding(13, 32), nn.Embedding(6, 32)
        self.encoder = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(32, 4, 64, 0.0, batch_first=True)
        self.out = nn.Linear(32, 13)

    def forward(self, dealt: Tensor, written: Tensor, mask: Tensor | None) -> Tensor:
        memory = self.encoder(self.cards(dealt))
        places = self.places(torch.arange(written.shape[1]))
        states = self.decoder(self.cards(written) + places, memory, tgt_mask=mask)
        logits: Tensor = self.out(states)
        return logits


@programs.script(
    NO_MASK, "Q&A: nn.TransformerDecoder, loss near zero after an epoch, but decoding gives rubbish"
)
def sorted_hands(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    dealt, ordered = hands(seed)
    model = CardSorter()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    shifted = F.pad(ordered[:, :-1], (1, 0), value=START)
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(1200).split(40):
            logits = model(dealt[rows], shifted[rows], mask if fixed else None)
            loss = F.cross_entropy(logits.flatten(0, 1), ordered[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    model.eval()
    written = torch.full((400, 1), START)
    with torch.no_grad():
        for place in range(1, 7):
            logits = model(dealt[1200:], written, mask[:place, :place])
            written = torch.cat([written, logits[:, -1:].argmax(2)], dim=1)
    return float((written[:, 1:] == ordered[1200:]).double().mean())


# --- from a sum in words to digits ----------------------------------------------------------------


class Numerals(nn.Module):
    """One GRU reads, another one writes and is told the previous symbol."""

    def __init__(self, symbols: int, letters: int, width: int, drop: float = 0.0) -> None:
        super().__init__()
        self.read, self.write = nn.Embedding(symbols, 20), nn.Embedding(letters, 20)
        self.encoder = nn.GRU(20, width, batch_first=True)
        self.decoder = nn.GRU(20, width, batch_first=True)
        self.drop, self.out = nn.Dropout(drop), nn.Linear(width, letters)

    def forward(self, symbols: Tensor, written: Tensor, cut: bool = False) -> Tensor:
        _, state = self.encoder(self.drop(self.read(symbols)))
        states, _ = self.decoder(self.write(written), state.detach() if cut else state)
        logits: Tensor = self.out(self.drop(states))
        return logits


def greedy(model: Numerals, symbols: Tensor, length: int) -> Tensor:
    """Return what the model writes when it is told its own symbols."""
    model.eval()
    written = torch.full((len(symbols), 1), START)
    with torch.no_grad():
        for _ in range(length):
            best = model(symbols, written)[:, -1:].argmax(2)
            written = torch.cat([written, best], dim=1)
    return written[:, 1:]


def roman(seed: int) -> tuple[Tensor, Tensor]:
    """Return the numbers up to 1999 in Roman numerals, and their four digits plus one."""
    letters = ["", "I", "V", "X", "L", "C", "D", "M"]
    ones = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    tens = [each.translate(str.maketrans("IVX", "XLC")) for each in ones]
    hundreds = [each.translate(str.maketrans("IVX", "CDM")) for each in ones]
    numerals, digits = [], []
    for number in default_rng(seed).permutation(1999):
        shown = f"{number:04d}"
        a, b, c, d = (int(digit) for digit in shown)
        numeral = "M" * a + hundreds[b] + tens[c] + ones[d]
        numerals.append([0] * (13 - len(numeral)) + [letters.index(each) for each in numeral])
        digits.append([a + 1, b + 1, c + 1, d + 1])
    return torch.tensor(numerals), torch.tensor(digits)


@programs.script(
    [faults.DETACHED, faults.CLIPPING.mildly()],
    "forum: the decoder ignores what the encoder read; detach() against 'backward a second time'",
)
def roman_numerals(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    numerals, digits = roman(seed)
    shifted = F.pad(digits[:, :-1], (1, 0), value=START)
    model = Numerals(8, 11, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    norm = 1.0 if fixed else 0.02
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(1500).split(50):
            optimizer.zero_grad()
            logits = model(numerals[rows], shifted[rows], cut=not fixed)
            loss = F.cross_entropy(logits.transpose(1, 2), digits[rows])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), norm)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    right = greedy(model, numerals[1500:], 4) == digits[1500:]
    return float(right.double().mean())


# --- amounts in words -----------------------------------------------------------------------------

TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SPOKEN = {word: 1 + at for at, word in enumerate([*UNITS, *TEENS.split(), *TENS, "hundred"])}


def amounts(seed: int, count: int = 1700) -> tuple[Tensor, Tensor]:
    """Return amounts up to 9999 in words, as in 'twelve hundred forty two', and their digits."""
    words, digits = [], []
    for amount in default_rng(seed).permutation(np.arange(100, 9999))[:count]:
        said: list[str] = []
        for part, name in ((amount // 100, "hundred"), (amount % 100, "")):
            if part >= 20:
                said += [TENS[part // 10 - 2]] + ([UNITS[part % 10]] if part % 10 else [])
            elif part:
                said += [UNITS[part] if part < 10 else TEENS.split()[part - 10]]
            said += [name] if name else []
        words.append([0] * (6 - len(said)) + [SPOKEN[word] for word in said])
        digits.append([1 + int(digit) for digit in f"{amount:04d}"])
    return torch.tensor(words), torch.tensor(digits)


@programs.script(
    [faults.FROZEN.mildly(), faults.DROPOUT.mildly(), faults.FEW_EPOCHS.mildly()],
    "issue: amounts on cheques; encoder frozen 'as it is only an encoder', dropout 0.7, 4 epochs",
)
def amounts_on_cheques(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    words, digits = amounts(seed)
    drop = 0.1 if fixed else 0.7
    model = Numerals(30, 11, 64, drop)
    if not fixed:
        model.encoder.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    epochs = 22 if fixed else 4
    doctor = watch(model, optimizer)
    for _epoch in range(epochs):
        for rows in torch.randperm(1300).split(40):
            shifted = F.pad(digits[rows, :-1], (1, 0), value=START)
            logits = model(words[rows], shifted)
            loss = F.cross_entropy(logits.transpose(1, 2), digits[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    right = greedy(model, words[1300:], 4) == digits[1300:]
    return float(right.double().mean())
