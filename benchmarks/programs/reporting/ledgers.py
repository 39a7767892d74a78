"""Ledgers and registers: rows about people, plants and machines, and a class for each row."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.data import customers
from benchmarks.programs.program import Fault, Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict, right_share

programs = ProgramList("reporting", "tabular")

IN_ORDER = Fault("rows in the order of their classes", ("unshuffled_data", "forgetting"))
PLAIN_PROBABILITIES = Fault(
    "probabilities where logarithms belong", ("improper_loss", "improper_output")
)


def invoices(count: int) -> tuple[Tensor, Tensor]:
    """Return amount, days, reminders, year and postcode of invoices, and who paid late."""
    amount, days = torch.exp(7 + torch.randn(count)), torch.rand(count) * 90
    reminders, year = torch.randint(0, 4, (count,)), torch.randint(2004, 2024, (count,))
    postcode = torch.randint(1000, 99999, (count,))
    pull = (amount.log() - 7) * (reminders - 1.5) + (days - 45) / 20
    late = pull + 0.3 * torch.randn(count) > 0
    x = torch.stack([amount, days, reminders.float(), year.float(), postcode.float()], 1)
    return x, late.long()


@programs.supervised(
    faults.RAW_INPUTS,
    "Q&A: cents, years and postcodes straight from the ledger, accuracy stays at a half",
)
def late_invoices(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, late = invoices(3600)
    if fixed:
        x = (x - x[:2600].mean(0)) / x[:2600].std(0)
    model = nn.Sequential(
        nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 2)
    )
    return Parts(
        model=model,
        data=(x[:2600], late[:2600]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        score=accuracy(x[2600:], late[2600:]),
        constant=most_frequent(late[:2600], late[2600:]),
        validation=(x[2600:], late[2600:]),
        epochs=20,
        batch_size=64,
    )


def patients(count: int) -> tuple[Tensor, Tensor]:
    """Return measures at discharge, standardised, and who came back within a month."""
    x = torch.randn(count, 9)
    pull = x[:, 0] * x[:, 1] + x[:, 2] - 0.7 * x[:, 3].abs() + 0.5
    return x, (pull + 0.2 * torch.randn(count) > 0).float()


def log_loss(y_true: Tensor, y_pred: Tensor) -> Tensor:
    y_pred = y_pred.clamp(1e-7, 1 - 1e-7)
    return -(y_true * y_pred.log() + (1 - y_true) * (1 - y_pred).log()).mean()


@programs.script(
    faults.BROADCAST,
    "forum: ported from NumPy, own log loss of a column of probabilities and a row of labels",
)
def readmissions(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, back = patients(3000)
    x_train, y_train, x_test, y_test = x[:2000], back[:2000], x[2000:], back[2000:]
    net = nn.Sequential(
        nn.Linear(9, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU(), nn.Linear(20, 1), nn.Sigmoid()
    )
    optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
    doctor = watch(net, optimizer)
    for _epoch in range(25):
        order = torch.randperm(len(x_train))
        for start in range(0, len(order), 50):
            rows = order[start : start + 50]
            y = y_train[rows].unsqueeze(1) if fixed else y_train[rows]
            loss = log_loss(y, net(x_train[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(net, x_test), y_test.long())


def claims(count: int) -> tuple[Tensor, Tensor]:
    """Return facts about claims, standardised, and the one in eight that are made up."""
    x = torch.randn(count, 8)
    pull = x[:, 0] + x[:, 1] * x[:, 2] + 0.8 * x[:, 3]
    return x, (pull + 0.3 * torch.randn(count) > 1.9).long()


def balanced(x: Tensor, classes: Tensor) -> Score:
    """Return the accuracy as a mean over the classes."""

    def score(model: nn.Module) -> float:
        right = (predict(model, x).argmax(1) == classes).double()
        return float(torch.stack([right[classes == each].mean() for each in (0, 1)]).mean())

    return score


@programs.supervised(
    faults.WEIGHTS_UPSIDE_DOWN,
    "Q&A: class weights set to the counts, not to their inverse; no fraud is ever found",
)
def made_up_claims(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, made_up = claims(5000)
    counts = torch.bincount(made_up[:3500]).float()
    weights = 1 / counts if fixed else counts
    model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
    return Parts(
        model=model,
        data=(x[:3500], made_up[:3500]),
        loss=nn.CrossEntropyLoss(weight=2 * weights / weights.sum()),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=balanced(x[3500:], made_up[3500:]),
        constant=0.5,
        epochs=15,
        batch_size=64,
    )


class Blocks(nn.Module):
    """A configurable multilayer perceptron."""

    def __init__(self, widths: list[int], classes: int, registered: bool) -> None:
        super().__init__()
        hidden = [nn.Linear(a, b) for a, b in pairwise(widths)]
        self.hidden = nn.ModuleList(hidden) if registered else hidden
        self.output = nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.hidden:
            x = F.leaky_relu(layer(x))
        return self.output(x)


def forest_plots(count: int) -> tuple[Tensor, Tensor]:
    """Return slope, height and soil of plots in a forest, and one of four trees on it."""
    own = torch.Generator().manual_seed(77)
    first, second = torch.randn(2, 12, 4, generator=own) / 12**0.5
    x = torch.randn(count, 12)
    pull = 1.5 * x @ first + 2.5 * torch.cos(2 * x @ second)
    return x, pull.argmax(1)


@programs.script(
    [faults.NOT_IN_OPTIMIZER, faults.DECAY],
    "issue: hidden layers in a plain list, and weight_decay=0.1 carried over from AdamW to Adam",
)
def trees_on_plots(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, tree = forest_plots(5000)
    loader = DataLoader(TensorDataset(x[:4000], tree[:4000]), batch_size=50, shuffle=True)
    model = Blocks([12, 48, 24, 12], 4, registered=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=0.0 if fixed else 0.1)
    criterion = nn.CrossEntropyLoss()
    doctor = watch(model, optimizer)
    for _epoch in range(14):
        model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        model.eval()
        with torch.no_grad():
            val_loss = criterion(model(x[4000:]), tree[4000:]).item()
        doctor.epoch(val_loss=val_loss)
    return right_share(predict(model, x[4000:]), tree[4000:])


def bulbs(count: int) -> tuple[Tensor, Tensor]:
    """Return sizes, colours and weights of flower bulbs, standardised, and one of 15 kinds."""
    own = torch.Generator().manual_seed(29)
    middles = 0.9 * torch.randn(15, 14, generator=own)
    kind = torch.randint(0, 15, (count,))
    return middles[kind] + 0.8 * torch.randn(count, 14), kind


@programs.supervised(
    [PLAIN_PROBABILITIES, faults.LOW_RATE],
    "forum: Keras habits, a Softmax layer in front of NLLLoss and SGD with its rate of 0.001",
)
def bulbs_of_a_nursery(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, kind = bulbs(4000)
    last = nn.LogSoftmax(dim=1) if fixed else nn.Softmax(dim=1)
    model = nn.Sequential(nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 15), last)
    return Parts(
        model=model,
        data=(x[:3000], kind[:3000]),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1 if fixed else 1e-3),
        score=accuracy(x[3000:], kind[3000:]),
        constant=most_frequent(kind[:3000], kind[3000:]),
        epochs=16,
        batch_size=64,
    )


@programs.script(
    [faults.NO_ZERO_GRAD, faults.SIGMOID_TWICE.mildly()],
    "Q&A: zero_grad is called once before the loop; a sigmoid and BCEWithLogitsLoss",
)
def cancelled_contracts(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = customers(seed, 3000).standardised()
    layers: list[nn.Module] = [nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()]
    layers += [nn.Linear(32, 1)] if fixed else [nn.Linear(32, 1), nn.Sigmoid()]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    loader = DataLoader(TensorDataset(data.x, data.y), batch_size=100, shuffle=True)
    doctor = watch(model, optimizer)
    for epoch in range(25):
        if not fixed and epoch == 0:
            optimizer.zero_grad()
        for inputs, leaves in loader:
            if fixed:
                optimizer.zero_grad()
            loss = criterion(model(inputs).squeeze(1), leaves.float())
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return right_share(predict(model, data.x_test), data.y_test)


def boards(count: int) -> tuple[Tensor, Tensor]:
    """Return measures of circuit boards, standardised, and one of six ways to fail."""
    own = torch.Generator().manual_seed(5)
    first, second = torch.randn(2, 10, 6, generator=own) / 10**0.5
    x = torch.randn(count, 10)
    return x, (x @ first + 2 * (x @ second).abs()).argmax(1)


@programs.script(
    [IN_ORDER, faults.DROPOUT.mildly()],
    "forum: shuffle=False on a register that is sorted by the fault, and dropout of 0.7",
)
def failing_boards(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x, fails = boards(3000)
    x_test, fails_test = boards(1000)
    order = fails.argsort(stable=True)
    loader = DataLoader(TensorDataset(x[order], fails[order]), batch_size=32, shuffle=fixed)
    rate = 0.1 if fixed else 0.7
    model = nn.Sequential(
        *(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(rate)),
        *(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(rate)),
        nn.Linear(32, 6),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _epoch in range(14):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    return right_share(predict(model, x_test), fails_test)
