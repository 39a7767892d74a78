"""Classes from tables whose rows, labels or shapes are not what the author believes."""

from __future__ import annotations

import numpy as np
import torch
from numpy.random import default_rng
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.data import Split, split
from benchmarks.programs.program import Parts, ProgramList, Score, Watch
from benchmarks.programs.scores import accuracy, most_frequent, predict

programs = ProgramList("calibration", "tabular")


def scores(data: Split) -> tuple[Score, float]:
    return accuracy(data.x_test, data.y_test), most_frequent(data.y, data.y_test)


@programs.supervised(
    faults.SHUFFLED_LABELS,
    "Q&A: 50 % accuracy; the features were sorted by event number, the labels were not",
    repairable=False,
)
def particle_events(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    signal = rng.integers(0, 2, 2400)
    energy, tracks = rng.gamma(3 + signal, 1.0, 2400), rng.poisson(4 + 5 * signal)
    mass = np.where(signal, rng.normal(2.0, 0.4, 2400), rng.exponential(2.2, 2400))
    x = np.stack([np.log(energy), np.sqrt(tracks), mass], 1)
    if not fixed:
        x = x[np.argsort(rng.random(2400))]
    data = split(x, signal, 800).standardised()
    model = nn.Sequential(nn.Linear(3, 24), nn.GELU(), nn.Linear(24, 2))
    score, constant = scores(data)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=score,
        constant=constant,
        epochs=25,
        batch_size=50,
    )


def gauges(seed: int, fixed: bool) -> Split:
    """Return six gauges of an engine, read from as many columns of a file, and its state."""
    rng = default_rng(seed)
    state = rng.integers(0, 4, 4200)
    load = rng.uniform(0.3, 1, 4200)
    hot, shaky = state % 2, state // 2
    columns = [
        load, 60 + 30 * load + 12 * hot + rng.normal(0, 4, 4200),
        2 + shaky + rng.normal(0, 0.45, 4200), 900 * load + rng.normal(0, 30, 4200),
        1.3 - 0.4 * shaky * load + rng.normal(0, 0.1, 4200), rng.normal(14, 0.2, 4200),
    ]  # fmt: skip
    table = np.array([(each - each.mean()) / each.std() for each in columns])
    x = table.T if fixed else table.reshape(4200, 6)
    return split(x, state, 1400)


@programs.supervised(
    faults.MIXED_SAMPLES,
    "forum: np.array(columns).reshape(n, 6) where .T was meant",
    repairable=False,
)
def engine_states(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = gauges(seed, fixed)
    model = nn.Sequential(
        nn.Linear(6, 32), nn.LeakyReLU(0.1), nn.Linear(32, 16), nn.LeakyReLU(0.1), nn.Linear(16, 4)
    )
    score, constant = scores(data)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True),
        score=score,
        constant=constant,
        epochs=20,
        batch_size=70,
    )


def crops(seed: int) -> Split:
    """Return soil and weather of fields, and which of six crops does best there."""
    rng = default_rng(seed)
    crop = rng.choice(6, 2700, p=[0.25, 0.2, 0.2, 0.2, 0.1, 0.05])
    middles = np.array(
        [[80, 24, 6.4, 230], [25, 20, 5.8, 110], [40, 27, 7.1, 60], [100, 24, 6.9, 80],
         [20, 29, 6.0, 190], [60, 17, 7.4, 150]]
    )  # fmt: skip
    x = rng.normal(middles[crop], [18, 2.2, 0.45, 32])
    return split(x, crop, 900)


@programs.supervised(
    [faults.WRONG_WIDTH.mildly(), faults.LOW_RATE.mildly()],
    "Q&A: 'Target 5 is out of bounds', so I clamped the labels and lowered the rate",
)
def best_crop(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = crops(seed).standardised()
    outputs = 6 if fixed else 4
    model = nn.Sequential(nn.Linear(4, 48), nn.Mish(), nn.Linear(48, outputs))
    score, constant = scores(data)
    return Parts(
        model=model,
        data=(data.x, data.y.clamp(max=outputs - 1)),
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer=torch.optim.Adagrad(model.parameters(), lr=0.05 if fixed else 5e-4),
        score=score,
        constant=constant,
        epochs=25,
    )


class VisitNet(nn.Module):
    """Grades each of a patient's visits by what was measured then."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.inner = nn.Linear(6, 32)
        self.outer = nn.Linear(32, 4)

    def forward(self, visits: Tensor) -> Tensor:
        return self.outer(F.relu(self.norm(self.inner(visits))))


@programs.supervised(
    faults.CLASSES_ELSEWHERE,
    "issue: four visits and four grades, so CrossEntropyLoss takes visits for classes",
)
def visit_grades(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    x = rng.normal(0, 1, (1500, 4, 6)).astype(np.float32)
    pain = (
        x[..., 0] + 0.8 * x[..., 1] * x[..., 2] - 0.6 * x[..., 3] + rng.normal(0, 0.25, (1500, 4))
    )
    data = split(x, np.digitize(pain, [-1.0, 0.0, 1.0]), 500)
    model = VisitNet()

    def criterion(outputs: Tensor, grades: Tensor) -> Tensor:
        return F.cross_entropy(outputs.transpose(1, 2) if fixed else outputs, grades)

    def score(trained: nn.Module) -> float:
        answers = predict(trained, data.x_test).argmax(-1)
        return float((answers == data.y_test).float().mean())

    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=criterion,
        optimizer=torch.optim.Adam(model.parameters(), lr=4e-3),
        score=score,
        constant=most_frequent(data.y.flatten(), data.y_test.flatten()),
        epochs=40,
        batch_size=50,
    )


@programs.supervised(
    faults.LOGITS_AS_PROBABILITIES, "forum: NLLLoss goes to minus infinity, log_softmax is missing"
)
def star_types(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    kind = rng.choice(4, 1800, p=[0.45, 0.3, 0.15, 0.1])
    colour = np.array([1.2, 0.5, 1.6, 0.1])[kind] + rng.normal(0, 0.25, 1800)
    bright = np.array([5.0, 2.0, -1.0, 11.0])[kind] + rng.normal(0, 1.4, 1800) + 2 * colour
    data = split(np.stack([colour, bright, rng.normal(0, 3, 1800)], 1), kind, 600).standardised()
    model = nn.Sequential(nn.Linear(3, 20), nn.Hardswish(), nn.Linear(20, 4))
    if fixed:
        model.append(nn.LogSoftmax(dim=1))
    score, constant = scores(data)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.NLLLoss(),
        optimizer=torch.optim.NAdam(model.parameters(), lr=5e-3),
        score=score,
        constant=constant,
        epochs=25,
        batch_size=30,
    )


def log(counts: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):  # of which nobody reads the warning
        return np.log(counts)


@programs.script(
    faults.NAN_INPUTS, "Q&A: loss is nan in the first epoch; np.log of counts that may be zero"
)
def bounced_mails(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    rng = default_rng(seed)
    sent, links = rng.poisson(40, 1800), rng.poisson(rng.gamma(2.0, 2.0, 1800))
    age = rng.exponential(300, 1800)
    spam = 1.5 * np.log1p(links) - 0.004 * age + 0.02 * (sent - 40) + rng.logistic(0, 0.25, 1800)
    clicks = np.log1p(links) if fixed else log(links)
    x = np.stack([sent / 40 - 1, clicks, age / 300 - 1], 1).astype(np.float32)
    data = split(x, (spam > 1).astype(np.float32), 600)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    doctor = watch(model, optimizer)
    best, waited = float("inf"), 0
    for _epoch in range(60):
        for rows in torch.randperm(1000).split(40):
            optimizer.zero_grad()
            logits = model(data.x[rows]).squeeze(-1)
            loss = F.binary_cross_entropy_with_logits(logits, data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        with torch.no_grad():
            logits = model(data.x[1000:]).squeeze(-1)
        validation = float(F.binary_cross_entropy_with_logits(logits, data.y[1000:]))
        doctor.epoch(val_loss=validation)
        best, waited = (validation, 0) if validation < best else (best, waited + 1)
        if waited == 10:
            break
    return accuracy(data.x_test, data.y_test.long())(model)
