"""Sequence to sequence: dates, questions to a travel agency, and words in another order."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import predict

programs = ProgramList("calibration", "sequence to sequence")

NO_CAUSAL_MASK = Fault(
    "no causal mask in the decoder", ("target_leak",), ("improper_loss", "bad_targets")
)


def dates(seed: int, count: int = 2000) -> tuple[Tensor, Tensor]:
    """Return dates as written (`17 Mar 1994`: digits, 10 + month, digits) and as `940317`."""
    rng = default_rng(seed)
    day, month = rng.integers(1, 29, count), rng.integers(1, 13, count)
    year = rng.integers(1950, 2030, count)
    digits = [year // 1000, year // 100 % 10, year // 10 % 10, year % 10]
    written = np.stack([day // 10, day % 10, 10 + month, *digits], 1)
    sorted_ = np.stack([*digits[2:], month // 10, month % 10, day // 10, day % 10], 1)
    return torch.as_tensor(written), torch.as_tensor(sorted_)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(23, 24)
        self.gru = nn.GRU(24, 48, batch_first=True)

    def forward(self, written: Tensor) -> tuple[Tensor, Tensor]:
        output, hidden = self.gru(self.embedding(written))
        return output, hidden


class Decoder(nn.Module):
    """It attends to the states of the encoder. Token 10 starts an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 24)
        self.gru = nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(96, 10)

    def forward(self, tokens: Tensor, states: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        output, hidden = self.gru(self.embedding(tokens), hidden)
        weights = (output @ states.transpose(1, 2) / 7).softmax(2)
        logits: Tensor = self.out(torch.cat([output, weights @ states], 2))
        return logits, hidden


@programs.script(
    [faults.NOT_IN_OPTIMIZER.mildly(), faults.HIGH_RATE.mildly()],
    "forum: encoder and decoder are two modules, the optimizer has the parameters of one",
)
def dates_to_numbers(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    written, numbers = dates(seed)
    written_test, numbers_test = dates(seed + 1000, 500)
    encoder, decoder = Encoder(), Decoder()
    both = nn.ModuleList([encoder, decoder])
    trained = both.parameters() if fixed else decoder.parameters()
    optimizer = torch.optim.Adam(trained, lr=5e-3 if fixed else 0.15)
    doctor = watch(both, optimizer)
    for _ in range(12):
        for rows in torch.randperm(len(written)).split(50):
            target = numbers[rows]
            start = torch.full((len(rows), 1), 10)
            states, hidden = encoder(written[rows])
            logits, _ = decoder(torch.cat([start, target[:, :-1]], 1), states, hidden)
            loss = functional.cross_entropy(logits.flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(both.parameters(), 1.0)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    with torch.no_grad():
        states, hidden = encoder(written_test)
        token, said = torch.full((500, 1), 10), []
        for _ in range(numbers.shape[1]):
            logits, hidden = decoder(token, states, hidden)
            token = logits.argmax(2)
            said.append(token)
    return float((torch.cat(said, 1) == numbers_test).double().mean())


def questions(seed: int, count: int = 1800, length: int = 10) -> tuple[Tensor, Tensor]:
    """Return questions such as `from ROME to OSLO on FRIDAY please`, and a tag for each word.

    The tags are: nothing, origin, destination, stop, day, airline. A place means what the word
    before says, and padding has the tag -100.
    """
    rng = default_rng(seed)
    x, y = np.zeros((count, length), np.int64), np.full((count, length), -100)
    for words, tags in zip(x, y, strict=True):
        phrases = rng.permutation(5)[: rng.integers(2, 5)]
        said, meant = [], []
        for phrase in phrases:
            filler = rng.random() < 0.4
            said += [int(rng.integers(60, 90))] * filler + [1 + int(phrase)]
            place = phrase < 3
            said += [int(rng.integers(10, 40) if place else rng.integers(40, 60))]
            meant += [0] * filler + [0, 1 + int(phrase)]
        said, meant = said[:length], meant[:length]
        said = [9 if rng.random() < 0.06 else word for word in said]  # unknown words
        words[: len(said)], tags[: len(meant)] = said, meant
    return torch.as_tensor(x), torch.as_tensor(y)


class SlotTagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(90, 24, padding_idx=0)
        self.lstm = nn.LSTM(24, 24, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(48, 6)

    def forward(self, words: Tensor) -> Tensor:
        output, _ = self.lstm(self.embedding(words))
        logits: Tensor = self.hidden2tag(output)
        return logits


def moved(logits: Tensor, tags: Tensor) -> Tensor:
    return functional.cross_entropy(logits.transpose(1, 2), tags)


def viewed(logits: Tensor, tags: Tensor) -> Tensor:
    count, length, classes = logits.shape
    return functional.cross_entropy(logits.contiguous().view(count, classes, length), tags)


@programs.supervised(
    faults.CLASSES_ELSEWHERE, "Q&A: classes must come second, so the logits were viewed that way"
)
def travel_slots(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    words, tags = questions(seed)
    unseen, meant = questions(seed + 1000, 500)
    real = meant >= 0

    def score(model: nn.Module) -> float:
        answers = predict(model, unseen).argmax(2)
        return float((answers == meant)[real].double().mean())

    model = SlotTagger()
    return Parts(
        model=model,
        data=(words, tags),
        loss=moved if fixed else viewed,
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=score,
        constant=float((meant[real] == 0).double().mean()),
        epochs=10,
        batch_size=32,
    )


def sentences(seed: int, count: int, pairs: int = 4) -> tuple[Tensor, Tensor]:
    """Return adjectives and nouns in turn, and their translation with the noun first.

    Words are 2 to 21, in both languages. Token 1 starts an answer.
    """
    rng = default_rng(seed)
    adjectives, nouns = rng.integers(2, 12, (count, pairs)), rng.integers(12, 22, (count, pairs))
    source = np.stack([adjectives, nouns], 2).reshape(count, -1)
    meaning = 2 + default_rng(7).permutation(20)
    swapped = meaning[np.stack([nouns, adjectives], 2) - 2].reshape(count, -1)
    return torch.as_tensor(source), torch.as_tensor(swapped)


class TinyTransformer(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(22, 48), nn.Embedding(22, 48)
        self.places = nn.Parameter(0.3 * torch.randn(8, 48))
        self.transformer = nn.Transformer(48, 4, 1, 1, 96, dropout=0.0, batch_first=True)
        self.generator = nn.Linear(48, 22)
        self.causal = causal

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        size = target.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(size) if self.causal else None
        decoded = self.transformer(
            self.source(source) + self.places,
            self.target(target) + self.places[:size],
            tgt_mask=mask,
        )
        logits: Tensor = self.generator(decoded)
        return logits


@programs.script(
    NO_CAUSAL_MASK, "issue: the loss drops to zero at once, and then it generates nonsense"
)
def noun_first(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    source, target = sentences(seed, 2500)
    unseen, meant = sentences(seed + 1000, 300)
    epochs, size = 8, 50
    model = TinyTransformer(causal=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 50)
    doctor = watch(model, optimizer)
    for _ in range(epochs):
        for rows in torch.randperm(len(source)).split(size):
            start = torch.ones(len(rows), 1, dtype=torch.long)
            shifted = torch.cat([start, target[rows, :-1]], 1)
            logits = model(source[rows], shifted)
            loss = functional.cross_entropy(logits.flatten(0, 1), target[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            warm_up.step()
            doctor.step(loss)
        doctor.epoch()
    said = torch.ones(len(unseen), 1, dtype=torch.long)
    with torch.no_grad():
        for _ in range(meant.shape[1]):
            following = predict_next(model, unseen, said)
            said = torch.cat([said, following[:, None]], 1)
    return float((said[:, 1:] == meant).all(1).double().mean())  # whole sentences


def predict_next(model: nn.Module, source: Tensor, said: Tensor) -> Tensor:
    """Return the likeliest next words."""
    model.eval()
    answer: Tensor = model(source, said)[:, -1].argmax(1)
    return answer
