"""Text: short messages, letters, opinions, and the next character."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import (
    accuracy,
    most_frequent,
    predict,
)

programs = ProgramList("calibration", "text")

NO_MASK = Fault("no causal mask", ("target_leak",), ("improper_loss",))

SPAM_WORDS = "win prize cash free claim urgent call txt offer now click loan"
HOME_WORDS = "mum dinner later love home bus meeting tomorrow sorry class dad lol"
ALL_DAY_WORDS = "the to you a i is on for at and me it my do we will so in just have"
CHEAP, HOMELY, FILLER = (each.split() for each in (SPAM_WORDS, HOME_WORDS, ALL_DAY_WORDS))
VOCABULARY = {word: number for number, word in enumerate([*CHEAP, *HOMELY, *FILLER])}


def messages(seed: int, count: int) -> tuple[list[str], np.ndarray]:
    """Return text messages, and whether each is spam."""
    rng = default_rng(seed)
    spam = rng.random(count) < 0.4
    texts = []
    for is_spam in spam:
        usual, unusual = (CHEAP, HOMELY) if is_spam else (HOMELY, CHEAP)
        words = [*rng.choice(FILLER, rng.integers(4, 12)), *rng.choice(usual, rng.integers(2, 5))]
        words += list(rng.choice(unusual, rng.integers(0, 2)))
        texts.append(" ".join(rng.permutation(words)))
    return texts, spam.astype(np.int64)


def bag(texts: list[str]) -> np.ndarray:
    counts = np.zeros((len(texts), len(VOCABULARY)), np.float32)
    for row, text in zip(counts, texts, strict=True):
        for word in text.split():
            row[VOCABULARY[word]] += 1
    return counts


@programs.supervised(
    faults.LABELS_FROM_ONE,
    "Q&A: my BCE loss is negative; the spreadsheet has 1 for ham and 2 for spam",
    repairable=False,
)
def sms_one_and_two(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    texts, spam = messages(seed, 1600)
    sms = split(bag(texts), spam, 400)
    labels = (sms.y if fixed else sms.y + 1).float().unsqueeze(1)
    model = nn.Sequential(
        nn.Linear(len(VOCABULARY), 24), nn.LeakyReLU(), nn.Dropout(0.2), nn.Linear(24, 1)
    )
    return Parts(
        model=model,
        data=(sms.x, labels),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4),
        score=accuracy(sms.x_test, sms.y_test),
        constant=most_frequent(sms.y, sms.y_test),
        epochs=15,
        batch_size=20,
    )


def registers(seed: int, count: int = 3600, length: int = 18) -> Split:
    """Return letters as word numbers that are casual, neutral or formal."""
    rng = default_rng(seed)
    y = rng.integers(0, 3, count)
    x = rng.integers(61, 200, (count, length))
    for row, style in zip(x, y, strict=True):
        telling = rng.integers(4, 8)
        heard = np.where(rng.random(telling) < 0.85, style, rng.integers(0, 3, telling))
        places = rng.choice(length, telling, replace=False)
        row[places] = 1 + 20 * heard + rng.integers(0, 20, telling)
    return split(x, y, 600)


class Pooled(nn.Module):
    """Convolve over words and take the mean answer of each filter."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.words = nn.Embedding(200, 12)
        self.conv = nn.Conv1d(12, 24, 2)
        self.out = nn.Linear(24, outputs)

    def forward(self, tokens: Tensor) -> Tensor:
        features = F.relu(self.conv(self.words(tokens).transpose(1, 2)))
        return self.out(features.mean(2))


@programs.supervised(
    faults.WRONG_WIDTH,
    "forum: casual, neutral and formal letters with one output and BCE; the loss is negative",
)
def three_registers_one_logit(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    letters = registers(seed)
    model = Pooled(3 if fixed else 1)
    labels = letters.y if fixed else letters.y.float().unsqueeze(1)
    return Parts(
        model=model,
        data=(letters.x, labels),
        loss=nn.CrossEntropyLoss() if fixed else nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.RMSprop(model.parameters(), lr=2e-3),
        score=accuracy(letters.x_test, letters.y_test),
        constant=most_frequent(letters.y, letters.y_test),
        epochs=5,
        batch_size=24,
    )


class TinyGPT(nn.Module):
    """One block of attention over the characters so far."""

    def __init__(self, characters: int, masked: bool, width: int = 32, length: int = 24) -> None:
        super().__init__()
        self.token = nn.Embedding(characters, width)
        self.place = nn.Embedding(length, width)
        self.block = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters)
        self.masked = masked

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.token(tokens) + self.place(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length) if self.masked else None
        return self.head(self.norm(self.block(x, src_mask=mask)))


def next_character(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@programs.supervised(
    NO_MASK,
    "issue: my small GPT has a loss near zero after two epochs and writes nonsense",
    data="shakespeare",
    repairable=False,
)
def gpt_without_mask(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    plays = real("shakespeare", seed)
    model = TinyGPT(plays.vocabulary, masked=fixed)
    last = plays.y_test[:, -1]

    def score(trained: nn.Module) -> float:
        """Only the last character has nothing after it to look at."""
        return float((predict(trained, plays.x_test)[:, -1].argmax(1) == last).double().mean())

    return Parts(
        model=model,
        data=(plays.x, plays.y),
        loss=next_character,
        optimizer=torch.optim.AdamW(model.parameters(), lr=8e-3),
        score=score,
        constant=most_frequent(plays.y[:, -1], last),
        epochs=12,
        batch_size=64,
        validation=(plays.x_test, plays.y_test),
    )


def opinions(seed: int, count: int = 3700, length: int = 20) -> Split:
    """Return opinions on films as word numbers; `not` before a word turns it around."""
    rng = default_rng(seed)
    y = rng.integers(0, 2, count)
    x = rng.integers(42, 180, (count, length))
    for row, label in zip(x, y, strict=True):
        for place in rng.choice(length // 2, rng.integers(2, 5), replace=False) * 2:
            turned = rng.random() < 0.3
            row[place] = 1 if turned else row[place]
            meant = label ^ turned ^ (rng.random() < 0.02)
            row[place + 1] = 2 + 20 * meant + rng.integers(0, 20)
    return split(x, y, 700)


class BiGRU(nn.Module):
    def __init__(self, softmax: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(180, 24)
        self.rnn = nn.GRU(24, 24, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(48, 2)
        self.softmax = softmax

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.rnn(self.embed(tokens))
        logits = self.fc(states.mean(1))
        return F.softmax(logits, dim=-1) if self.softmax else logits


@programs.supervised(
    [faults.SOFTMAX_TWICE.mildly(), faults.DECAY.mildly()],
    "forum: film opinions stay at 0.75; AdamW(weight_decay=8) and softmax at the end of forward",
)
def opinions_softmax_and_decay(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    films = opinions(seed)
    model = BiGRU(softmax=not fixed)
    decay = 0.01 if fixed else 8.0
    return Parts(
        model=model,
        data=(films.x, films.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=decay),
        score=accuracy(films.x_test, films.y_test),
        constant=most_frequent(films.y, films.y_test),
        epochs=5,
        batch_size=50,
        validation=(films.x_test, films.y_test),
    )
