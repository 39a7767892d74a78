"""Sound models of tables with other losses, inputs and outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from benchmarks.checkup import data
from benchmarks.checkup.base_models import mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList("reporting")
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@cases.sound("five classes, tanh, a list")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 5))
    return Inputs(model, list(data.table(40, 10, 5)), CE)


@cases.sound("GELU and layer norms, RMSprop")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE, torch.optim.RMSprop(model.parameters(), lr=1e-3))


@cases.sound("regression of three values, mean distance")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 48), nn.Softplus(), nn.Linear(48, 3))
    return Inputs(model, data.curve(48, outputs=3), nn.L1Loss())


@cases.sound("regression, log-cosh")
def _() -> Inputs:
    def judged(outputs: Tensor, targets: Tensor) -> Tensor:
        off = outputs - targets
        return (off + F.softplus(-2 * off) - 0.6931).mean()

    return Inputs(mlp(outputs=2), data.curve(outputs=2), judged)


@cases.sound("yes or no in one dimension, yes counts more")
def _() -> Inputs:
    rows, targets = data.answers(48)
    model = Net(lambda net, x: net.body(x).squeeze(-1), body=mlp(outputs=1))
    return Inputs(model, (rows, targets[:, 0]), nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0)))


@cases.sound("four grades as three steps of yes or no")
def _() -> Inputs:
    rows, grades = data.table(48, classes=4)
    steps = (grades[:, None] > torch.arange(3)).float()
    return Inputs(mlp(outputs=3), (rows, steps), BCE)


@cases.sound("costs, a gamma likelihood")
def _() -> Inputs:
    def judged(outputs: Tensor, costs: Tensor) -> Tensor:
        return (outputs + costs * (-outputs).exp()).mean()

    rows, values = data.curve(48)
    return Inputs(mlp(outputs=1), (rows, values.exp()), judged)


@cases.sound("wide and deep")
def _() -> Inputs:
    model = Net(lambda net, x: net.wide(x) + net.deep(x), wide=nn.Linear(8, 3), deep=mlp())
    return Inputs(model, data.table(), CE)


@cases.sound("factorization machine of three categories")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        x = x + torch.tensor([0, 10, 20])
        each = net.each(x)
        pairs = 0.5 * (each.sum(1).square() - each.square().sum(1)).sum(-1)
        return net.alone(x).sum((1, 2)) + pairs

    model = Net(run, each=nn.Embedding(30, 4), alone=nn.Embedding(30, 1))
    nn.init.normal_(model.get_parameter("each.weight"), std=0.3)
    nn.init.normal_(model.get_parameter("alone.weight"), std=0.3)
    chosen = torch.randint(10, (64, 3))
    return Inputs(model, (chosen, (chosen.sum(1) % 2).float()), BCE)


@cases.sound("gated linear units")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(8, 64), nn.GLU(), nn.Linear(32, 64), nn.GLU(), nn.Linear(32, 3))
    return Inputs(model, data.table(), CE, torch.optim.NAdam(model.parameters(), lr=2e-3))


@cases.sound("three tables by name")
def _() -> Inputs:
    class Three(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.person, self.place = nn.Linear(3, 16), nn.Linear(3, 16)
            self.thing, self.head = nn.Linear(2, 16), nn.Linear(48, 3)

        def forward(self, person: Tensor, place: Tensor, thing: Tensor) -> Any:
            made = [self.person(person), self.place(place), self.thing(thing)]
            return self.head(torch.cat(made, 1).relu())

    rows, labels = data.table(40)
    batch = {"person": rows[:, :3], "place": rows[:, 3:6], "thing": rows[:, 6:]}
    return Inputs(Three(), (batch, labels), CE)


@cases.sound("triplets, its own loss")
def _() -> Inputs:
    class Triplets(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = mlp(8, 6)

        def forward(self, anchor: Tensor, same: Tensor, other: Tensor) -> Any:
            codes = self.body(anchor)
            near = (codes - self.body(same)).square().sum(1)
            far = (codes - self.body(other)).square().sum(1)
            return {"logits": codes, "loss": F.softplus(near - far).mean()}

    rows = data.table(48)[0]
    same, other = rows.roll(3, 0), rows.roll(1, 0)
    return Inputs(Triplets(), {"anchor": rows, "same": same, "other": other})


@cases.sound("how long something lasts, some of it not seen to end")
def _() -> Inputs:
    def judged(rate: Tensor, seen: Tensor) -> Tensor:
        time, ended = seen[:, :1], seen[:, 1:]
        return (rate.exp() * time - ended * rate).mean()

    rows, values = data.curve(48)
    time = torch.empty(48, 1).exponential_() * values.exp()
    seen = torch.cat([time.clamp(max=2), (time < 2).float()], 1)
    return Inputs(mlp(outputs=1), (rows, seen), judged)


@cases.sound("squares and products as further columns, linear")
def _() -> Inputs:
    def run(net: Any, x: Tensor) -> Any:
        products = (x[:, :, None] * x[:, None, :]).flatten(1)
        return net.last(torch.cat([x, products], 1))

    return Inputs(Net(run, last=nn.Linear(20, 2)), data.curve(48, 4, 2), MSE)


@cases.sound("classes by cosine")
def _() -> Inputs:
    class Cosine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.centres = mlp(8, 16), nn.Parameter(torch.randn(3, 16) / 4)

        def forward(self, x: Tensor) -> Any:
            x = F.normalize(self.body(x), dim=1, eps=1e-4)
            return 8 * x @ F.normalize(self.centres, dim=1, eps=1e-4).T

    return Inputs(Cosine(), data.table(), CE)


class Told(NamedTuple):
    logits: Tensor
    code: Tensor


@cases.sound("a named tuple as output")
def _() -> Inputs:
    class Tells(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = mlp(8, 16), nn.Linear(16, 3)

        def forward(self, x: Tensor) -> Any:
            code = self.body(x).relu()
            return Told(self.head(code), code)

    def judged(outputs: Told, labels: Tensor) -> Tensor:
        return F.cross_entropy(outputs.logits, labels) + 1e-3 * outputs.code.mean()

    return Inputs(Tells(), data.table(), judged)
