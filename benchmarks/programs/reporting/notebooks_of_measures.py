"""Numbers to predict: from workshops and mountains, some of them from a few dozen rows."""

from __future__ import annotations

from math import pi

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.programs import faults
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import explained, predict, r_squared

programs = ProgramList("reporting", "regression")

NOT_SQUARED = Fault(
    "differences neither squared nor absolute",
    ("improper_loss", "wrong_sign"),
    (*faults.UNSTABLE, *faults.DEAD, "exploding_gradient"),
)
NO_LOG_VARIANCE = Fault(
    "a likelihood without the logarithm of its variance",
    ("improper_loss",),
    (*faults.UNSTABLE, "gradient_collapse", "vanishing_gradient", "learning_rate_too_low"),
)


def glaciers(count: int) -> tuple[Tensor, Tensor]:
    """Return height, warmth, snow and slope of glaciers, and litres of water that melt a day."""
    height, warmth = 1800 + 1500 * torch.rand(count), 4 + 8 * torch.rand(count)
    snow, slope = 400 * torch.rand(count), 35 * torch.rand(count)
    melt = 900 * F.softplus(warmth - height / 400) * (1 + slope / 40) + 3 * (400 - snow)
    melt = melt + 100 * torch.randn(count)
    return torch.stack([height, warmth, snow, slope], 1), melt.unsqueeze(1)


@programs.supervised(
    [faults.RAW_TARGETS, faults.LOW_RATE],
    "Q&A: litres in the thousands as they are, and a rate so small that the loss is not NaN",
)
def melting_glaciers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, melt = glaciers(2400)
    x = (x - x[:1600].mean(0)) / x[:1600].std(0)
    held_out = melt[1600:]
    if fixed:
        middle, spread = melt[:1600].mean(), melt[:1600].std()
        melt, held_out = (melt - middle) / spread, (held_out - middle) / spread
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
    model.append(nn.Linear(32, 1))
    return Parts(
        model=model,
        data=(x[:1600], melt[:1600]),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05 if fixed else 1e-9),
        score=explained(x[1600:], held_out),
        constant=0.0,
        epochs=20,
    )


def doughs(count: int) -> tuple[Tensor, Tensor]:
    """Return yeast, salt, warmth and time of doughs, and how far they have risen. Standardised."""
    x = torch.randn(count, 4)
    risen = torch.tanh(x[:, 0]) * (1 + 0.5 * x[:, 2]) - 0.4 * x[:, 1] + 0.5 * torch.sin(x[:, 3])
    return x, (risen + 0.05 * torch.randn(count)).unsqueeze(1)


@programs.supervised(
    faults.RELU_OUTPUT,
    "course: 90 doughs, the ReLU of the hidden layers copied behind the last one as well",
    kind="tiny data",
)
def rising_doughs(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, risen = doughs(90)
    x_test, risen_test = doughs(300)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
    model.append(nn.Linear(16, 1))
    if not fixed:
        model.append(nn.ReLU())
    return Parts(
        model=model,
        data=(x, risen),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(x_test, risen_test),
        constant=0.0,
        epochs=100,
        batch_size=10,
    )


def torques(count: int) -> tuple[Tensor, Tensor]:
    """Return measures of bolts, standardised, and the torque at which each of them gives way."""
    x = torch.randn(count, 5)
    torque = 1.2 * x[:, 0] * torch.sigmoid(2 * x[:, 1]) + 0.6 * x[:, 2].abs() - 0.5
    return x, torque + 0.05 * torch.randn(count)


@programs.script(
    faults.DETACHED,
    "forum: 'does not require grad' is silenced by torch.tensor(loss.item(), requires_grad=True)",
)
def bolts_that_give_way(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    (x, torque), (x_test, torque_test) = torques(1200), torques(500)
    model = nn.Sequential(nn.Linear(5, 64), nn.ELU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(15):
        total = 0.0
        for rows in torch.randperm(len(x)).split(40):
            optimizer.zero_grad()
            error = F.smooth_l1_loss(model(x[rows]).flatten(), torque[rows])
            loss = error if fixed else torch.tensor(error.item(), requires_grad=True)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            total += loss.item()
        doctor.epoch(train_loss=total / 30)
    return r_squared(predict(model, x_test), torque_test)


def sagging(span: Tensor, load: Tensor) -> Tensor:
    return torch.log1p(span.square() * load / 40)


@programs.script(
    NOT_SQUARED,
    "Q&A: criterion(y, y_hat) = mean(y_hat - y); the loss is below zero and falls for ever",
    kind="tiny data",
)
def sagging_cables(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rows = torch.rand(260, 2) * torch.tensor([30.0, 8.0])
    sag = sagging(rows[:, :1], rows[:, 1:]) + 0.03 * torch.randn(260, 1)
    rows = (rows - rows.mean(0)) / rows.std(0)
    sag = (sag - sag[:60].mean()) / sag[:60].std()

    def criterion(y: Tensor, y_hat: Tensor) -> Tensor:
        return ((y_hat - y) ** 2).mean() if fixed else (y_hat - y).mean()

    net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh())
    net.append(nn.Linear(20, 1))
    optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-3)
    doctor = watch(net, optimizer)
    for _step in range(400):
        loss = criterion(sag[:60], net(rows[:60]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        doctor.step(loss)
    return r_squared(predict(net, rows[60:]), sag[60:])


def espressos(count: int) -> tuple[Tensor, Tensor]:
    """Return grind, dose and pressure of espressos, standardised, and seconds in the machine."""
    x = torch.randn(count, 3)
    seconds = 27 * torch.exp(-0.3 * x[:, 0] + 0.15 * x[:, 1] - 0.2 * x[:, 2] * x[:, 0])
    return x, (seconds + 0.5 * torch.randn(count)).clamp(8, 70).unsqueeze(1)


@programs.supervised(
    [faults.BOUNDED_OUTPUT, faults.LARGE_START.mildly(), faults.LOW_RATE],
    "forum: seconds of a shot behind a sigmoid, weights from randn as in NumPy, SGD(0.0001)",
    kind="tiny data",
)
def times_of_espressos(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, seconds = espressos(80)
    x_test, seconds_test = espressos(300)
    if fixed:
        seconds, seconds_test = (seconds - 27) / 10, (seconds_test - 27) / 10
    model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
    model.append(nn.Linear(24, 1))
    if not fixed:
        for weight in (each for each in model.parameters() if each.ndim == 2):
            weight.data = torch.randn(weight.shape)
        model.append(nn.Sigmoid())
    return Parts(
        model=model,
        data=(x, seconds),
        loss=nn.MSELoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02 if fixed else 1e-4, momentum=0.9),
        score=explained(x_test, seconds_test),
        constant=0.0,
        epochs=60,
        batch_size=10,
    )


class Forecast(nn.Module):
    """The mean and the logarithm of the variance."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.mean, self.log_variance = nn.Linear(48, 1), nn.Linear(48, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(x)
        return self.mean(hidden).squeeze(1), self.log_variance(hidden).squeeze(1)


@programs.script(
    NO_LOG_VARIANCE.mildly(),
    "issue: own Gaussian likelihood from a paper, the term with log(variance) left out",
)
def winds_with_a_doubt(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    x = torch.randn(2600, 6)
    wind = torch.sin(1.5 * x[:, 0]) * x[:, 1] + x[:, 2]
    wind = wind + 0.1 * (1 + x[:, 3].abs()) * torch.randn(2600)
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(16):
        for rows in torch.randperm(1800).split(50):
            mean, log_variance = model(x[rows])
            scaled = (wind[rows] - mean) ** 2 * torch.exp(-log_variance)
            loss = 0.5 * (scaled + log_variance if fixed else scaled).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch()
    with torch.no_grad():
        return r_squared(model(x[1800:])[0], wind[1800:])


@programs.script(
    [faults.SUM, faults.NO_ACTIVATION.mildly()],
    "course: swings of a pendulum, reduction='sum' 'to see the numbers better', only Linear layers",
)
def swings_of_a_pendulum(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    length, angle = 0.2 + 2 * torch.rand(1500), torch.rand(1500) * 0.9 * pi
    period = 2 * pi * (length / 9.81).sqrt() * (1 + angle**2 / 16 + 11 * angle**4 / 3072)
    x = torch.stack([length - 1.2, angle - 1.4], 1) / torch.tensor([0.58, 0.82])
    y = (period + 0.02 * torch.randn(1500) - 2.5).unsqueeze(1)
    reduction = "mean" if fixed else "sum"
    criterion = nn.MSELoss(reduction=reduction)
    between: type[nn.Module] = nn.Softplus if fixed else nn.Identity
    model = nn.Sequential(nn.Linear(2, 24), between(), nn.Linear(24, 24), between())
    model.append(nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=50, shuffle=True)
    doctor = watch(model, optimizer)
    for _epoch in range(25):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return r_squared(predict(model, x[1000:]), y[1000:])


def corks(count: int) -> tuple[Tensor, Tensor]:
    """Return measures of corks, standardised, and how much air they let through."""
    x = torch.randn(count, 3)
    air = x[:, 0] * x[:, 1] + 0.6 * x[:, 2].abs() - 0.4 * x[:, 0]
    return x, (air - 0.5 + 0.05 * torch.randn(count)).unsqueeze(1)


@programs.supervised(
    [faults.SMALL.mildly(), faults.FEW_EPOCHS.mildly()],
    "Q&A: afraid of overfitting 100 corks: four hidden units, and stopped after 25 epochs",
    kind="tiny data",
)
def air_through_corks(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    x, air = corks(100)
    x_test, air_test = corks(300)
    width = 48 if fixed else 4
    model = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))
    return Parts(
        model=model,
        data=(x, air),
        loss=nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=3e-3),
        score=explained(x_test, air_test),
        constant=0.0,
        validation=(x_test[:100], air_test[:100]),
        epochs=160 if fixed else 25,
        batch_size=10,
    )
