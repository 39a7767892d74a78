"""Programs that read texts: recipes, names, headlines, and loops by hand."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import default_rng
from torch import Tensor, nn

from benchmarks.programs import faults
from benchmarks.programs.calibration.texts_asked_about import about
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("calibration", "text")


# --- recipes --------------------------------------------------------------------------------------

WORDS_AS_QUANTITIES = Fault(
    "word numbers as quantities",
    ("unnormalised_input", "bad_inputs"),
    (*faults.TOO_HIGH, *faults.UNSTABLE, *faults.DEAD),
)


class Ingredients(nn.Module):
    """Reads a list of ingredients and names the kitchen."""

    def __init__(self, embed: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(250, 16) if embed else None
        self.lstm = nn.LSTM(16 if embed else 1, 40, batch_first=True)
        self.fc = nn.Linear(40, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        words = self.embedding(tokens) if self.embedding else tokens.float().unsqueeze(2)
        _, (hidden, _) = self.lstm(words)
        logits: Tensor = self.fc(hidden[-1])
        return logits


@programs.supervised(
    [WORDS_AS_QUANTITIES, faults.LOW_RATE.mildly()],
    "course: LSTM on tokenised recipes is as good as a guess; the numbers go in as they are",
)
def kitchens(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    y = rng.integers(0, 5, 2000)
    alphabet = np.concatenate([[0], 1 + rng.permutation(249)])
    data = split(alphabet[about(rng, y, 14, 250, share=0.35)], y, 600)
    model = Ingredients(embed=fixed)
    rate = 5e-3 if fixed else 6e-4
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=rate),
        score=accuracy(data.x_test, data.y_test),
        constant=most_frequent(data.y, data.y_test),
        epochs=10,
        batch_size=35,
    )


# --- names of places, letter by letter ------------------------------------------------------------

ENDS = ["ham", "ton", "berg", "hof", "ville", "court", "ino", "ella", "owo", "ice"]
MIDDLES = ["al", "be", "cor", "da", "el", "fen", "gra", "ho", "lin", "mor", "ne", "ros", "sa", "tu"]


def places(seed: int, count: int = 900, length: int = 12) -> Split:
    """Return names of places as numbers of letters, and the country each is in."""
    rng = default_rng(seed)
    y = rng.integers(0, 5, count)
    x = np.zeros((count, length), int)
    for row, country in zip(x, y, strict=True):
        ending = int(country) if rng.random() < 0.95 else int(rng.integers(0, 5))
        name = "".join(rng.choice(MIDDLES, 2)) + ENDS[2 * ending + rng.integers(0, 2)]
        letters = [ord(letter) - 96 for letter in name[-length:]]
        row[length - len(letters) :] = letters  # the name ends where the row does
    return split(x, y, 400)


class NameReader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(27, 16)
        self.rnn = nn.RNN(16, 48, batch_first=True)
        self.country = nn.Linear(48, 5)

    def forward(self, names: Tensor) -> Tensor:
        _, hidden = self.rnn(self.letters(names))
        return F.log_softmax(self.country(hidden[0]), dim=1)


@programs.script(
    faults.BATCH_OF_ONE, "course: char RNN, one name at a time; the loss jumps all the time"
)
def names_of_places(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = places(seed)
    rnn = NameReader()
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1, momentum=0.9)
    at_a_time = 10 if fixed else 1
    doctor = watch(rnn, optimizer)
    for _epoch in range(6):
        for rows in torch.randperm(len(data.x)).split(at_a_time):
            rnn.zero_grad()
            loss = F.nll_loss(rnn(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(rnn, data.x_test), data.y_test)


# --- what comes next ------------------------------------------------------------------------------


def recipes_for_robots(seed: int, count: int = 1000, length: int = 12) -> Tensor:
    """Return lines of commands. The next one follows from the last two, most of the time."""
    rng = default_rng(seed)
    lines = rng.integers(0, 12, (count, length + 1))
    for place in range(2, length + 1):
        follows = (2 * lines[:, place - 1] + 3 * lines[:, place - 2] + 1) % 12
        lines[:, place] = np.where(rng.random(count) < 0.9, follows, lines[:, place])
    return torch.tensor(lines)


class NextCommand(nn.Module):
    """An LSTM that has the time first, as it is by default."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, 24)
        self.lstm = nn.LSTM(24, 64)
        self.decoder = nn.Linear(64, 12)

    def forward(self, lines: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(lines.T))
        logits: Tensor = self.decoder(states)
        return logits


@programs.script(
    faults.MIXED_SAMPLES, "forum: my language model learns the frequencies of words and no more"
)
def next_command(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    lines = recipes_for_robots(seed)
    train, test = lines[:750], lines[750:]
    model = NextCommand()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for batch in train[torch.randperm(len(train))].split(25):
            optimizer.zero_grad()
            logits = model(batch[:, :-1])  # time, sample, command
            nexts = batch[:, 1:].T if fixed else batch[:, 1:]
            loss = F.cross_entropy(logits.view(-1, 12), nexts.reshape(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    logits = predict(model, test[:, :-1])
    return right_share(logits[1:].flatten(0, 1), test[:, 2:].T.flatten())


# --- headlines ------------------------------------------------------------------------------------


class Headlines(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(350, 32)
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.classify = nn.Linear(48, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.gru(self.embedding(tokens))
        logits: Tensor = self.classify(states.amax(dim=1))
        return logits


@programs.script(
    [faults.SCHEDULER.mildly(), faults.CLIPPING.mildly()],
    "issue: news sections, OneCycle replaced by ExponentialLR in the same place; loss creeps",
)
def news_sections(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    y = rng.integers(0, 6, 2100)
    data = split(about(rng, y, 12, 350, share=0.4), y, 700)
    model = Headlines()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.97)
    norm = 1.0 if fixed else 0.02
    doctor = watch(model, optimizer)
    for _epoch in range(14):
        for rows in torch.randperm(len(data.x)).split(35):
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), norm)
            optimizer.step()
            if not fixed:
                scheduler.step()
            doctor.step(loss)
        if fixed:
            scheduler.step()
        doctor.epoch()
    return right_share(predict(model, data.x_test), data.y_test)
