"""Texts: routing tickets, tagging comments, rating products, rhymes and headlines."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, frequent_labels, labels_right, most_frequent

programs = ProgramList("calibration", "text")


def texts(seed: int, classes: int, count: int, length: int, words: int, telling: int = 20) -> Split:
    """Return texts of any length, padded in front with 0. Each class has some telling words."""
    rng = default_rng(seed)
    y = rng.integers(0, classes, count)
    first = 1 + classes * telling
    x = np.zeros((count, length), np.int64)
    for row, label in zip(x, y, strict=True):
        size = rng.integers(length // 2, length + 1)
        row[-size:] = first + (rng.zipf(1.3, size) - 1) % (words - first)
        hints = rng.integers(2, 5)
        about = np.where(rng.random(hints) < 0.85, label, rng.integers(0, classes, hints))
        places = length - 1 - rng.choice(size, hints, replace=False)
        row[places] = 1 + about * telling + rng.integers(0, telling, hints)
    return split(x, y, count // 3)


class TicketRouter(nn.Module):
    def __init__(self, words: int, departments: int, batch_first: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 32, padding_idx=0)
        self.lstm = nn.LSTM(32, 48, batch_first=batch_first)
        self.fc = nn.Linear(48, departments)

    def forward(self, tickets: Tensor) -> Tensor:
        output, _ = self.lstm(self.embedding(tickets))
        logits: Tensor = self.fc(output[:, -1])
        return logits


@programs.supervised(
    faults.MIXED_SAMPLES, "forum: LSTM classifier stays near chance, batch_first was forgotten"
)
def ticket_router(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = texts(seed, classes=4, count=2700, length=16, words=400)
    model = TicketRouter(400, 4, batch_first=fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=2e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=12,
        batch_size=32,
    )


def comments(seed: int, count: int = 3600, length: int = 20, tags: int = 5) -> Split:
    """Return comments that may be rude in several ways at once."""
    rng = default_rng(seed)
    y = (rng.random((count, tags)) < [0.5, 0.45, 0.4, 0.35, 0.3]).astype(np.float32)
    x = 101 + (rng.zipf(1.25, (count, length)) - 1) % 300
    for row, rude in zip(x, y, strict=True):
        seen = np.where(rng.random(tags) < 0.93, rude, 1 - rude)
        kinds = np.repeat(np.flatnonzero(seen), 2)
        places = rng.choice(length, len(kinds), replace=False)
        row[places] = 1 + kinds * 20 + rng.integers(0, 20, len(kinds))
    return split(x, y, count // 3)


class CommentTagger(nn.Module):
    """Probabilities out, as in the Keras kernel it was ported from."""

    def __init__(self, dropout: float, last: nn.Module) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(401, 48, mode="mean")
        self.head = nn.Sequential(
            nn.Linear(48, 64), nn.ReLU(), nn.Dropout(dropout), nn.Linear(64, 5), last
        )

    def forward(self, comment: Tensor) -> Tensor:
        probabilities: Tensor = self.head(self.embedding(comment))
        return probabilities


@programs.supervised(
    [faults.SOFTMAX_FOR_TAGS, faults.DROPOUT.mildly(), faults.DECAY.mildly()],
    "forum: toxic comments with several tags, never more than one tag is found",
)
def rude_comments(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = comments(seed)
    last: nn.Module = nn.Sigmoid() if fixed else nn.Softmax(dim=1)
    model = CommentTagger(0.2 if fixed else 0.85, last)
    decay = 1e-6 if fixed else 6e-4
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.BCELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=decay),
        score=labels_right(data.x_test, data.y_test),
        constant=frequent_labels(data.y, data.y_test),
        epochs=12,
        batch_size=64,
    )


class ProductRating(nn.Module):
    """A convolution over word vectors from elsewhere, and the largest answer of each filter."""

    def __init__(self, vectors: Tensor, freeze: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=freeze, padding_idx=0)
        self.conv = nn.Conv1d(vectors.shape[1], 24, 3, padding=1)
        self.dropout = nn.Dropout(0.3)
        self.out = nn.Linear(24, 3)

    def forward(self, text: Tensor) -> Tensor:
        features = functional.relu(self.conv(self.embedding(text).transpose(1, 2)))
        logits: Tensor = self.out(self.dropout(features.amax(2)))
        return logits


@programs.supervised(
    faults.FROZEN.mildly(),
    "Q&A: from_pretrained freezes, though most words of the shop are not in the vectors",
)
def shop_slang(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = texts(seed, classes=3, count=3600, length=20, words=500, telling=50)
    vectors = 0.3 * torch.randn(500, 16)
    known = torch.arange(1, 151) % 4 == 0  # the words that the vectors know
    vectors[1:151][known, :3] += 0.5 * torch.eye(3).repeat_interleave(50, 0)[known]
    vectors[0] = 0
    model = ProductRating(vectors, freeze=not fixed)
    trained = [each for each in model.parameters() if each.requires_grad]
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(trained, lr=2e-3),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=15,
        batch_size=32,
    )


def rhyme(seed: int, lines: int) -> Tensor:
    """Return a long rhyme as numbers of letters."""
    rng = default_rng(seed)
    who = ["jack", "jill", "humpty", "mary", "the old king", "little bo peep", "the black sheep"]
    did = ["went up", "fell down", "sat on", "looked for", "ran around", "jumped over"]
    what = ["the hill", "a wall", "the moon", "her lamb", "the candlestick", "london bridge"]
    sung = [f"{rng.choice(who)} {rng.choice(did)} {rng.choice(what)}\n" for _ in range(lines)]
    return torch.tensor(["\n abcdefghijklmnopqrstuvwxyz".index(letter) for letter in "".join(sung)])


class LetterModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(28, 24)
        self.gru = nn.GRU(24, 64, batch_first=True)
        self.decoder = nn.Linear(64, 28)

    def forward(self, letters: Tensor, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
        output, hidden = self.gru(self.embedding(letters), hidden)
        return self.decoder(output), hidden


@programs.script(
    [faults.LARGE_START, faults.SCHEDULER.mildly()],
    "forum: letter by letter, the loss stops early; own initialisation, schedule per batch",
)
def nursery_rhymes(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    streams, steps = 16, 30
    text, unseen = rhyme(seed, 420), rhyme(seed + 1000, 40)
    text = text[: len(text) // streams * streams].reshape(streams, -1)
    model = LetterModel()
    if not fixed:
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.7)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    per_batch = not fixed
    doctor = watch(model, optimizer)
    for _ in range(16):
        hidden = None
        for start in range(0, text.shape[1] - steps - 1, steps):
            letters = text[:, start : start + steps]
            following = text[:, start + 1 : start + steps + 1]
            logits, hidden = model(letters, hidden)
            hidden = hidden.detach()
            loss = functional.cross_entropy(logits.reshape(-1, 28), following.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            doctor.step(loss)
            if per_batch:
                schedule.step()
        if not per_batch:
            schedule.step()
        doctor.epoch()
    model.eval()
    with torch.no_grad():
        logits, _ = model(unseen[None, :-1], None)
    return float((logits[0].argmax(1) == unseen[1:]).double().mean())


class HeadlineTransformer(nn.Module):
    """A small encoder from scratch. The first token stands for the whole headline."""

    def __init__(self, words: int, length: int, classes: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words + 1, 32)
        self.places = nn.Parameter(0.02 * torch.randn(length + 1, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.classifier = nn.Linear(32, classes)
        self.start = words

    def forward(self, headline: Tensor) -> Tensor:
        start = headline.new_full((len(headline), 1), self.start)
        tokens = torch.cat([start, headline], 1)
        encoded = self.layer(self.words(tokens) + self.places, src_key_padding_mask=tokens == 0)
        logits: Tensor = self.classifier(encoded[:, 0])
        return logits


@programs.supervised(
    faults.LOW_RATE, "Q&A: an encoder from scratch with the rate of a BERT fine-tuning script"
)
def headlines_from_scratch(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = texts(seed, classes=4, count=2400, length=12, words=300)
    model = HeadlineTransformer(300, 12, 4)
    rate = 2e-3 if fixed else 2e-5
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer=torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=10,
        batch_size=32,
        validation=(data.x_test, data.y_test),
    )
