"""What people choose: dishes from a menu, and podcasts that two towers suggest."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, most_frequent

programs = ProgramList("calibration", "ranking")

GUESTS, DISHES, SHOWN = 50, 40, 5


def choices(count: int) -> tuple[Tensor, Tensor]:
    """Return rows of a guest and five dishes, and which of the dishes the guest took."""
    taste, dish = torch.randn(GUESTS, 4), torch.randn(DISHES, 4)
    guest = torch.randint(0, GUESTS, (count, 1))
    shown = torch.rand(count, DISHES).argsort(1)[:, :SHOWN]
    liking = 2 * (taste[guest] * dish[shown]).sum(2)
    gumbel = -torch.log(-torch.log(torch.rand(count, SHOWN) * 0.998 + 0.001))
    return torch.cat([guest, shown], 1), (liking + 0.5 * gumbel).argmax(1)


class Menu(nn.Module):
    """Scores of the dishes that are shown to a guest."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.guests = nn.Embedding(GUESTS, 8)
        self.dishes = nn.Embedding(DISHES, 8)
        self.temperature = temperature
        for table in (self.guests, self.dishes):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, rows: Tensor) -> Tensor:
        guest, shown = self.guests(rows[:, :1]), self.dishes(rows[:, 1:])
        return (guest * shown).sum(2) / self.temperature


@programs.supervised(
    [faults.TEMPERATURE.mildly(), faults.FROZEN, faults.LOW_RATE],
    "forum: scores divided by 100 as in distillation, dishes kept as 'pretrained', Adam(1e-4)",
)
def menu_choices(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    rows, taken = choices(9000)
    model = Menu(temperature=1.0 if fixed else 100.0)
    if not fixed:
        model.dishes.weight.requires_grad = False
    return Parts(
        model=model,
        data=(rows[:7500], taken[:7500]),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01 if fixed else 1e-4),
        score=accuracy(rows[7500:], taken[7500:]),
        constant=most_frequent(taken[:7500], taken[7500:]),
        epochs=12,
        batch_size=64,
    )


def listeners(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return listeners, podcasts, and whether the listener finished the podcast."""
    own = torch.Generator().manual_seed(33)
    likes, topic = torch.randn(6, 2, generator=own) / 2, torch.randn(8, 2, generator=own) / 2
    who, what = torch.randn(count, 6), torch.randn(count, 8)
    fit = (torch.tanh(who @ likes) * torch.tanh(what @ topic)).sum(1)
    return who, what, (fit + 0.1 * torch.randn(count) > 0.2).float()


class Towers(nn.Module):
    """A tower for listeners and one for podcasts."""

    def __init__(self) -> None:
        super().__init__()
        self.who = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 12))
        self.what = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 12))
        self.offset = nn.Parameter(torch.zeros(1))


@programs.script(
    [faults.DETACHED.mildly(), faults.SIGNED_LABELS],
    "issue: item vectors are cached without gradients, and skipped podcasts have the label -1",
)
def podcast_towers(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    who, what, finished = listeners(11000)
    model = Towers()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(10000).split(64):
            items = model.what(what[rows])
            items = items if fixed else items.detach()
            match = (model.who(who[rows]) * items).sum(1) + model.offset
            label = finished[rows] if fixed else 2 * finished[rows] - 1
            loss = F.binary_cross_entropy_with_logits(match, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    with torch.no_grad():
        match = (model.who(who[10000:]) * model.what(what[10000:])).sum(1) + model.offset
    return float(((match > 0).float() == finished[10000:]).double().mean())
