"""Short texts: a class for each, or the next letter."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.tabular import scored
from benchmarks.programs.data import Split, reviews
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import right_share

programs = ProgramList("calibration", "text")


class Bag(nn.Module):
    """The mean of word vectors, and a layer or two."""

    def __init__(self, classes: int = 1, end: nn.Module | None = None) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(300, 32)
        self.fc = nn.Linear(32, classes)
        self.end = end or nn.Identity()

    def forward(self, tokens: Tensor) -> Tensor:
        return self.end(self.fc(self.words(tokens)))


@programs.supervised(
    faults.SIGMOID_TWICE.mildly(), "issue: sentiment model with Sigmoid and BCEWithLogitsLoss"
)
def reviews_sigmoid_twice(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = reviews(seed)
    model = Bag(end=None if fixed else nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y.float().unsqueeze(1)),
        loss=nn.BCEWithLogitsLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        epochs=12,
        **scored(data),
    )


class Reader(nn.Module):
    """An LSTM that reads a text and judges it at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(300, 32)
        self.lstm = nn.LSTM(32, 32, batch_first=True)
        self.fc = nn.Linear(32, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        _, (hidden, _) = self.lstm(self.embedding(tokens))
        return self.fc(hidden[-1])


@programs.supervised(
    faults.HIGH_RATE, "forum: LSTM sentiment, loss is 0.69 for ever; Adam with lr=0.3"
)
def reviews_lstm_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = reviews(seed)
    model = Reader()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3 if fixed else 0.3),
        epochs=8,
        **scored(data),
    )


class Attention(nn.Module):
    """One transformer layer and the mean over the words."""

    def __init__(self, drop: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(300, 32)
        self.layer = nn.TransformerEncoderLayer(32, 2, 64, drop, batch_first=True)
        self.fc = nn.Linear(32, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.fc(self.layer(self.embedding(tokens)).mean(1))


@programs.supervised(
    [faults.HIGH_RATE, faults.DROPOUT.mildly()],
    "issue: transformer stays at 50 %; AdamW(0.1), dropout 0.9",
)
def reviews_transformer(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = reviews(seed)
    model = Attention(0.1 if fixed else 0.9)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3 if fixed else 0.1),
        epochs=6,
        **scored(data),
    )


@programs.supervised(
    [faults.SOFTMAX_TWICE, faults.FEW_EPOCHS.mildly()],
    "forum: news topics, 46 classes, softmax before the loss and 2 epochs",
    data="reuters_bag",
)
def reuters_softmax(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = real("reuters_bag", seed)
    layers: list[nn.Module] = [nn.Linear(1000, 64), nn.ReLU(), nn.Linear(64, 46)]
    model = nn.Sequential(*layers) if fixed else nn.Sequential(*layers, nn.Softmax(dim=-1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=10 if fixed else 2,
        **scored(Split(data.x, data.y, data.x_test, data.y_test)),
    )


@programs.supervised(
    faults.FROZEN.mildly(), "forum: random embeddings loaded with freeze=True", data="imdb"
)
def imdb_frozen_embedding(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = real("imdb", seed)
    model = nn.Sequential(nn.EmbeddingBag(2000, 16), nn.Linear(16, 2))
    model[0].weight.requires_grad = fixed
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        epochs=15,
        **scored(Split(data.x, data.y, data.x_test, data.y_test)),
    )


class Letters(nn.Module):
    """Predicts a letter at each place of a line."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, 32)
        self.gru = nn.GRU(32, 64, batch_first=True)
        self.fc = nn.Linear(64, letters)

    def forward(self, lines: Tensor) -> Tensor:
        return self.fc(self.gru(self.embedding(lines))[0])


@programs.script(
    faults.WRONG_SHIFT, "Q&A: char-rnn with loss near 0 writes one letter; y is x",
    data="shakespeare",
)  # fmt: skip
def shakespeare_no_shift(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = real("shakespeare", seed)
    x, y = data.x[:1500], (data.y if fixed else data.x)[:1500]
    model = Letters(data.size)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(6):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]).flatten(0, 1), y[rows].flatten())
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        return right_share(model(data.x_test).flatten(0, 1), data.y_test.flatten())
