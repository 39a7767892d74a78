"""Sequence to sequence with signals: a clean signal from a noisy one, and an echo."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import explained

programs = ProgramList("calibration", "sequence to sequence")


def noisy_and_clean(count: int, length: int = 48) -> tuple[Tensor, Tensor]:
    """Return noisy sums of two waves, and the same without noise."""
    time = torch.arange(length)
    phase = 2 * math.pi * torch.rand(2, count, 1)
    slow = torch.sin(0.15 * time + phase[0])
    clean = slow + 0.6 * torch.sin(torch.empty(count, 1).uniform_(0.3, 0.5) * time + phase[1])
    return clean + 0.4 * torch.randn(count, length), clean


class Filter(nn.Module):
    """Convolutions that keep the length."""

    def __init__(self, positive: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 12, 7, padding=3),
            nn.GELU(),
            nn.Conv1d(12, 12, 7, padding=3),
            nn.GELU(),
            nn.Conv1d(12, 1, 7, padding=3),
        )
        self.positive = positive

    def forward(self, noisy: Tensor) -> Tensor:
        clean = self.layers(noisy.unsqueeze(1)).squeeze(1)
        return F.relu(clean) if self.positive else clean


@programs.supervised(
    [faults.WRONG_DIMENSION, faults.RELU_OUTPUT.mildly()],
    "Q&A: my filter answers with straight lines; the mean of each signal comes before the square",
)
def filter_mean_before_square(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    noisy, clean = noisy_and_clean(1300)
    model = Filter(positive=not fixed)

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        error = outputs - targets
        return error.pow(2).mean() if fixed else error.mean(dim=1).pow(2).mean()

    return Parts(
        model=model,
        data=(noisy[:1000], clean[:1000]),
        loss=loss,
        optimizer=torch.optim.Adam(model.parameters(), lr=5e-3),
        score=explained(noisy[1000:], clean[1000:]),
        constant=0.0,
        epochs=10,
        batch_size=25,
    )


class EchoCell(nn.Module):
    """A plain recurrent cell, written by hand, that repeats what it heard some steps ago."""

    def __init__(self, symbols: int = 4, width: int = 32) -> None:
        super().__init__()
        self.width = width
        self.listen = nn.Linear(symbols, width)
        self.remember = nn.Linear(width, width, bias=False)
        self.say = nn.Linear(width, symbols)
        nn.init.orthogonal_(self.remember.weight)

    def forward(self, heard: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state = torch.tanh(self.listen(heard) + self.remember(state))
        return self.say(state), state


def echo_run(
    cell: EchoCell, symbols: Tensor, delay: int, through: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logits, and the symbols that should be repeated, as rows, and the loss."""
    state = torch.zeros(len(symbols), cell.width)
    answers = []
    for heard in F.one_hot(symbols, 4).float().unbind(1):
        logits, state = cell(heard, state if through else state.detach())
        answers.append(logits)
    said = torch.stack(answers, 1)[:, delay:].flatten(0, 1)
    wanted = symbols[:, :-delay].flatten()
    return said, wanted, F.cross_entropy(said, wanted)


@programs.script(
    faults.DETACHED, "forum: hidden = hidden.detach() inside the time loop, and the echo is a guess"
)
def echo_detached_each_step(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    cell, delay = EchoCell(), 8
    optimizer = torch.optim.Adam(cell.parameters(), lr=3e-3)
    doctor = watch(cell, optimizer)
    for _step in range(700):
        loss = echo_run(cell, torch.randint(0, 4, (32, 20)), delay, through=fixed)[2]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(cell.parameters(), 1.0)
        optimizer.step()
        doctor.step(loss)
    with torch.no_grad():
        said, wanted, _ = echo_run(cell, torch.randint(0, 4, (200, 20)), delay, through=True)
    return float((said.argmax(1) == wanted).double().mean())
