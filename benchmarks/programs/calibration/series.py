"""Series in time: forecasts and classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.tabular import scored
from benchmarks.programs.data import Split, sales, waves
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy, explained

programs = ProgramList("calibration", "series")


class Forecast(nn.Module):
    """An LSTM that reads a window and predicts the next value."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, width, batch_first=True)
        self.fc = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def scaled(data: Split) -> Split:
    low, high = data.x.min(), data.x.max()
    return Split(
        *((each - low) / (high - low) for each in (data.x, data.y, data.x_test, data.y_test))
    )


@programs.supervised(
    [faults.RAW_INPUTS, faults.RAW_TARGETS], "Q&A: LSTM predicts one number; sales were not scaled"
)
def sales_raw(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = scaled(sales(seed)) if fixed else sales(seed)
    model = Forecast()
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
    )


@programs.supervised(
    faults.BROADCAST, "forum: LSTM regression, (32, 1) against (32,), a flat forecast"
)
def sales_broadcast(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = scaled(sales(seed))
    model = Forecast()
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1) if fixed else data.y),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
    )


@programs.supervised(
    faults.SMALL.mildly(),
    "DeepCrime: fewer units; one LSTM unit for a season of 7 days and one of 90",
)
def sales_one_unit(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = scaled(sales(seed))
    model = Forecast(32 if fixed else 1)
    return Parts(
        model=model,
        data=(data.x, data.y.unsqueeze(1)),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(data.x_test, data.y_test),
        constant=0.0,
        epochs=30,
    )


class Detached(nn.Module):
    """A GRU whose state is cut from the graph, as for truncated backpropagation."""

    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.fc = nn.Linear(32, 3)
        self.cut = cut

    def forward(self, x: Tensor) -> Tensor:
        _, hidden = self.gru(x)
        state = hidden[-1].detach() if self.cut else hidden[-1]
        return self.fc(state)


@programs.supervised(
    faults.DETACHED,
    "forum: hidden.detach() before the head; the GRU never learns",
    repairable=False,
)
def waves_detached(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = waves(seed)
    model = Detached(cut=not fixed)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        epochs=15,
        **scored(data),
    )


class Simple(nn.Module):
    """An Elman network without gates."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.RNN(1, 48, batch_first=True)
        self.fc = nn.Linear(48, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.rnn(x)[0].mean(1))


@programs.supervised(faults.HIGH_RATE, "Q&A: a plain RNN with Adam(0.3), no clipping")
def waves_rnn_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = waves(seed)
    model = Simple()
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3 if fixed else 0.3),
        epochs=20,
        **scored(data),
    )


class NotBatchFirst(nn.Module):
    """The same network, but torch takes the first dimension for time."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=batch_first)
        self.fc = nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.gru(x)[0][:, -1])


@programs.script(
    faults.MIXED_SAMPLES, "Q&A: GRU without batch_first, so that state runs from sample to sample"
)
def waves_not_batch_first(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = waves(seed)
    model = NotBatchFirst(batch_first=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(model)


@programs.script(
    [faults.CLIPPING, faults.BROADCAST], "issue: forecast with clip 1e-4 and a squeezed target",
    data="exchange",
)  # fmt: skip
def exchange_clipped(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = real("exchange", seed)
    x, y, x_test, y_test = data.x, data.y[:, :1], data.x_test, data.y_test[:, :1]
    model = nn.Sequential(nn.Flatten(), nn.Linear(16 * 8, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            target = y[rows] if fixed else y[rows].squeeze(1)
            loss = ((model(x[rows]) - target) ** 2).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0 if fixed else 1e-4)
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(r2=explained(x_test, y_test)(model))
    return explained(x_test, y_test)(model)
