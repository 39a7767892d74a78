"""More sound feed-forward models: other tasks, losses and ways to pass a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.checkup import data
from benchmarks.checkup.base_models import mlp
from benchmarks.checkup.case import CaseList, Inputs, Net

cases = CaseList()
CE, MSE, BCE = nn.CrossEntropyLoss(), nn.MSELoss(), nn.BCEWithLogitsLoss()


@cases.sound("linear regression")
def _() -> Inputs:
    model = nn.Linear(8, 1)
    return Inputs(model, data.curve(), MSE, torch.optim.SGD(model.parameters(), lr=0.05))


@cases.sound("residual mlp, GELU and layer norms")
def _() -> Inputs:
    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 32)
            )

        def forward(self, x: Tensor) -> Any:
            return x + self.body(x)

    model = nn.Sequential(
        nn.Linear(8, 32), Step(), Step(), Step(), nn.LayerNorm(32), nn.Linear(32, 3)
    )
    return Inputs(model, data.table(), CE, torch.optim.AdamW(model.parameters(), lr=1e-3))


@cases.sound("three quantiles, pinball loss")
def _() -> Inputs:
    def pinball(outputs: Tensor, targets: Tensor) -> Tensor:
        levels = torch.tensor([0.1, 0.5, 0.9])
        over = targets - outputs
        return torch.maximum(levels * over, (levels - 1) * over).mean()

    rows, targets = data.curve(64)
    return Inputs(mlp(outputs=3), (rows, targets.expand(-1, 3).contiguous()), pinball)


@cases.sound("mean and variance, Gaussian likelihood")
def _() -> Inputs:
    def both(net: Any, x: Tensor) -> Any:
        mean, spread = net.body(x).chunk(2, dim=1)
        return mean, F.softplus(spread) + 1e-3

    def judged(outputs: tuple[Tensor, Tensor], targets: Tensor) -> Tensor:
        return F.gaussian_nll_loss(outputs[0], targets, outputs[1])

    return Inputs(Net(both, body=mlp(outputs=2)), data.curve(), judged)


@cases.sound("hinge loss of several classes")
def _() -> Inputs:
    return Inputs(mlp(outputs=5), data.table(40, classes=5), nn.MultiMarginLoss())


@cases.sound("focal loss of yes or no")
def _() -> Inputs:
    def focal(outputs: Tensor, targets: Tensor) -> Tensor:
        each = F.binary_cross_entropy_with_logits(outputs, targets, reduction="none")
        return ((1 - (-each).exp()) ** 2 * each).mean()

    return Inputs(mlp(outputs=1), data.answers(), focal)


@cases.sound("weights of classes and smooth labels")
def _() -> Inputs:
    loss = nn.CrossEntropyLoss(torch.tensor([0.5, 1.0, 1.5]), label_smoothing=0.1)
    return Inputs(mlp(), data.table(), loss)


@cases.sound("labels that are mixed")
def _() -> Inputs:
    rows, labels = data.table()
    share = torch.rand(32, 1)
    whole = F.one_hot(labels, 3).float()
    mixed = share * whole + (1 - share) * whole.roll(1, 0)
    return Inputs(mlp(), (share * rows + (1 - share) * rows.roll(1, 0), mixed), CE)


@cases.sound("double precision")
def _() -> Inputs:
    rows, labels = data.table()
    return Inputs(mlp().double(), (rows.double(), labels), CE)


@cases.sound("maxout")
def _() -> Inputs:
    model = Net(
        lambda net, x: net.last(net.first(x).unflatten(1, (24, 3)).amax(2)),
        first=nn.Linear(8, 72),
        last=nn.Linear(24, 3),
    )
    return Inputs(model, data.table(), CE)


@cases.sound("radial functions around centres")
def _() -> Inputs:
    class Radial(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.centres, self.head = nn.Parameter(torch.randn(24, 8)), nn.Linear(24, 1)

        def forward(self, x: Tensor) -> Any:
            far = (x[:, None] - self.centres).square().sum(-1)
            return self.head((-far / 16).exp())

    return Inputs(Radial(), data.curve(), MSE)


@cases.sound("random features that are kept")
def _() -> Inputs:
    class Features(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("turn", torch.randn(8, 32) * 0.5)
            self.head = mlp(64, 1)

        def forward(self, x: Tensor) -> Any:
            angle = x @ self.get_buffer("turn")
            return self.head(torch.cat([angle.sin(), angle.cos()], 1))

    return Inputs(Features(), data.curve(), nn.L1Loss())


@cases.sound("one layer in eight small steps")
def _() -> Inputs:
    def flow(net: Any, x: Tensor) -> Any:
        state = net.first(x)
        for _ in range(8):
            state = state + net.slope(state).tanh() / 8
        return net.last(state)

    model = Net(flow, first=nn.Linear(8, 24), slope=nn.Linear(24, 24), last=nn.Linear(24, 3))
    return Inputs(model, data.table(), CE)


@cases.sound("deep and cross, columns of categories")
def _() -> Inputs:
    class Crossed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fields = nn.ModuleList(nn.Embedding(10, 6) for _ in range(4))
            self.cross = nn.ModuleList(nn.Linear(24, 24) for _ in range(2))
            self.deep, self.head = mlp(24, 16), nn.Linear(40, 1)

        def forward(self, columns: Tensor) -> Any:
            parts = [each(columns[:, place]) for place, each in enumerate(self.fields)]
            start = x = torch.cat(parts, 1)
            for layer in self.cross:
                x = start * layer(x) + x
            return self.head(torch.cat([x, self.deep(start)], 1))

    columns = torch.randint(10, (64, 4))
    return Inputs(Crossed(), (columns, (columns[:, :1] + columns[:, 1:2] > 9).float()), BCE)


@cases.sound("two tasks, a dict of targets")
def _() -> Inputs:
    def both(net: Any, x: Tensor) -> Any:
        hidden = net.body(x).relu()
        return {"kind": net.kind(hidden), "value": net.value(hidden)}

    def judged(outputs: dict[str, Tensor], targets: dict[str, Tensor]) -> Tensor:
        kind = F.cross_entropy(outputs["kind"], targets["kind"])
        return kind + F.mse_loss(outputs["value"], targets["value"])

    rows, labels = data.table()
    model = Net(both, body=mlp(outputs=32), kind=nn.Linear(32, 3), value=nn.Linear(32, 1))
    return Inputs(model, (rows, {"kind": labels, "value": rows[:, :1].sin()}), judged)


@cases.sound("two towers, judged against the others of the batch")
def _() -> Inputs:
    def judged(outputs: tuple[Tensor, Tensor], pairs: Tensor) -> Tensor:
        one, other = (F.normalize(each, dim=1) for each in outputs)
        return F.cross_entropy(one @ other.T / 0.2, pairs)

    model = Net(lambda net, a, b: (net.left(a), net.right(b)), left=mlp(8, 16), right=mlp(8, 16))
    rows = torch.randn(32, 8)
    return Inputs(model, ((rows, rows.roll(1, 1)), torch.arange(32)), judged)


@cases.sound("the value of a state and what each act adds")
def _() -> Inputs:
    def duel(net: Any, x: Tensor) -> Any:
        hidden = net.body(x).relu()
        added = net.added(hidden)
        return net.value(hidden) + added - added.mean(1, keepdim=True)

    model = Net(duel, body=mlp(4, 32), value=nn.Linear(32, 1), added=nn.Linear(32, 3))
    return Inputs(model, (torch.randn(32, 4), torch.randn(32, 3)), nn.SmoothL1Loss())


@cases.sound("a loader of wide rows, two groups in the optimizer")
def _() -> Inputs:
    model = nn.Sequential(nn.Linear(64, 48), nn.LeakyReLU(), nn.Dropout(0.2), nn.Linear(48, 6))
    loader = DataLoader(TensorDataset(*data.table(96, 64, 6)), batch_size=24, drop_last=True)
    weights = [each for each in model.parameters() if each.dim() > 1]
    rest = [each for each in model.parameters() if each.dim() < 2]
    groups = [{"params": weights, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    return Inputs(model, loader, CE, torch.optim.AdamW(groups, lr=1e-3))
