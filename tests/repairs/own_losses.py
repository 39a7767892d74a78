"""Losses as people write them: sound ones, and ones with a slip."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

Loss = Callable[[Tensor, Tensor], Tensor]
SAMPLES = 320
_DRAWN = torch.Generator().manual_seed(0)
X = torch.randn(SAMPLES, 4, generator=_DRAWN)
SCORES = X @ torch.randn(4, 3, generator=_DRAWN)
CLASSES = SCORES.argmax(1)
YES = (SCORES[:, :1] > 0).float()
TAGS = (SCORES > 0).float()
NUMBERS = SCORES[:, :1] * 0.5 + 1.0
COUNTS = torch.poisson(SCORES[:, :1].exp(), generator=_DRAWN)
SHARES = SCORES.softmax(1)
WEIGHTS = torch.tensor([1.0, 2.0, 0.5])
EPS = 1e-7


@dataclass(frozen=True)
class Case:
    """A loss, what it is used on, and the name of what is wrong with it."""

    name: str
    loss: Loss
    targets: Tensor
    last: nn.Module
    problem: str = ""

    def model(self) -> nn.Module:
        one = self.targets.is_floating_point() and self.targets[0].numel() == 1
        width = 1 if one else 3
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, width), self.last)


def picked(outputs: Tensor, classes: Tensor) -> Tensor:
    return outputs[torch.arange(len(classes)), classes]


def likelihood(p: Tensor, y: Tensor, eps: float = EPS) -> Tensor:
    return (y * torch.log(p + eps) + (1 - y) * torch.log(1 - p + eps)).mean()


def overlap(p: Tensor, y: Tensor) -> Tensor:
    return (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)


def focal(outputs: Tensor, classes: Tensor) -> Tensor:
    each = F.cross_entropy(outputs, classes, reduction="none")
    return ((1 - torch.exp(-each)) ** 2 * each).mean()


def binary_focal(outputs: Tensor, y: Tensor) -> Tensor:
    each = F.binary_cross_entropy_with_logits(outputs, y, reduction="none")
    return ((1 - torch.exp(-each)) ** 2 * each).mean()


def smoothed(outputs: Tensor, classes: Tensor) -> Tensor:
    goal = F.one_hot(classes, 3) * 0.9 + 0.1 / 3
    return -(goal * outputs.log_softmax(1)).sum(1).mean()


def weighted(p: Tensor, y: Tensor) -> Tensor:
    return -(3 * y * torch.log(p + EPS) + (1 - y) * torch.log(1 - p + EPS)).mean()


def quantile(outputs: Tensor, targets: Tensor) -> Tensor:
    error = targets - outputs
    return torch.max(0.9 * error, -0.1 * error).mean()


def huber(outputs: Tensor, targets: Tensor) -> Tensor:
    error = (outputs - targets).abs()
    return torch.where(error < 1, error**2 / 2, error - 0.5).mean()


def contrastive(embedded: Tensor, classes: Tensor) -> Tensor:
    distance = (embedded[:, None] - embedded[None]).square().sum(-1)
    alike = (classes[:, None] == classes[None]).float()
    return (alike * distance + (1 - alike) * F.relu(1 - distance)).mean()


def noisy(outputs: Tensor, targets: Tensor) -> Tensor:
    return ((outputs + 0.01 * torch.randn_like(outputs) - targets) ** 2).mean()


def evidence_bound(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.mse_loss(outputs, targets) + 1e-3 * outputs.square().mean()


def squared_hinge(outputs: Tensor, signs: Tensor) -> Tensor:
    return F.relu(1 - outputs * signs).square().mean()


def margins(outputs: Tensor, classes: Tensor) -> Tensor:
    own = picked(outputs, classes).unsqueeze(1)
    return F.relu(1 - own + outputs).mean()


def same_direction(outputs: Tensor, targets: Tensor) -> Tensor:
    return 1 - F.cosine_similarity(outputs, targets, dim=1).mean()


def correlation(outputs: Tensor, targets: Tensor) -> Tensor:
    a, b = outputs - outputs.mean(), targets - targets.mean()
    return F.cosine_similarity(a, b, dim=0).mean()


class Penalised(nn.Module):
    """Squared error with a penalty on weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs - targets).square().mean() + 1e-3 * self.weight.square().sum()


def plain() -> nn.Module:
    return nn.Identity()


SOUND = [
    Case("focal", focal, CLASSES, plain()),
    Case("binary focal", binary_focal, YES, plain()),
    Case("dice of probabilities", lambda p, y: 1 - overlap(p, y), YES, nn.Sigmoid()),
    Case("dice of logits", lambda o, y: 1 - overlap(o.sigmoid(), y), YES, plain()),
    Case("dice and bce", lambda p, y: 1 - overlap(p, y) - likelihood(p, y), TAGS, nn.Sigmoid()),
    Case("huber", huber, NUMBERS, plain()),
    Case("smoothed", smoothed, CLASSES, plain()),
    Case("weighted bce", weighted, YES, nn.Sigmoid()),
    Case("bce of tags", lambda p, y: -likelihood(p, y), TAGS, nn.Sigmoid()),
    Case("clamped", lambda p, y: -likelihood(p.clamp(EPS, 1 - EPS), y, 0), YES, nn.Sigmoid()),
    Case("stable bce", lambda o, y: (F.softplus(o) - y * o).mean(), YES, plain()),
    Case("class weights", lambda o, y: F.cross_entropy(o, y, WEIGHTS), CLASSES, plain()),
    Case("ignored class", lambda o, y: F.cross_entropy(o, y, ignore_index=0), CLASSES, plain()),
    Case("summed", lambda o, y: F.cross_entropy(o, y, reduction="sum") / 32, CLASSES, plain()),
    Case("log of softmax", lambda p, y: -picked(p + EPS, y).log().mean(), CLASSES, nn.Softmax(1)),
    Case("log, no epsilon", lambda p, y: -picked(p, y).log().mean(), CLASSES, nn.Softmax(1)),
    Case("nll", lambda o, y: -picked(o, y).mean(), CLASSES, nn.LogSoftmax(1)),
    Case("brier", lambda p, y: (p - F.one_hot(y, 3)).square().mean(), CLASSES, nn.Softmax(1)),
    Case("margins", margins, CLASSES, plain()),
    Case("squared hinge", squared_hinge, 2 * YES - 1, plain()),
    Case("quantile", quantile, NUMBERS, plain()),
    Case("log cosh", lambda o, t: torch.cosh(o - t).log().mean(), NUMBERS, plain()),
    Case("rmse", lambda o, t: ((o - t) ** 2).mean().sqrt(), NUMBERS, plain()),
    Case("squeezed", lambda o, t: ((o[:, 0] - t) ** 2).mean(), NUMBERS[:, 0], plain()),
    Case("poisson", lambda o, t: (o.exp() - t * o).mean(), COUNTS, plain()),
    Case("correlation", lambda o, t: 1 - correlation(o, t), NUMBERS, plain()),
    Case("cosine", same_direction, SCORES, plain()),
    Case("kl", lambda o, t: (t * (t.log() - o)).sum(1).mean(), SHARES, nn.LogSoftmax(1)),
    Case("soft targets", lambda o, t: -(t * o.log_softmax(1)).sum(1).mean(), SHARES, plain()),
    Case("contrastive", contrastive, CLASSES, plain()),
    Case("noisy", noisy, NUMBERS, plain()),
    Case("two terms", evidence_bound, NUMBERS, plain()),
    Case("penalised", Penalised(), NUMBERS, plain()),
]

LOSS, OUTPUT, TWICE = "improper_loss", "improper_output", "double_activation"
FAULTY = [
    Case("no minus", likelihood, YES, nn.Sigmoid(), LOSS),
    Case("no minus, tags", likelihood, TAGS, nn.Sigmoid(), LOSS),
    Case(
        "no minus, classes", lambda o, y: picked(o.log_softmax(1), y).mean(), CLASSES, plain(), LOSS
    ),
    Case(
        "no minus, shares",
        lambda p, y: picked(p + EPS, y).log().mean(),
        CLASSES,
        nn.Softmax(1),
        LOSS,
    ),
    Case("minus mse", lambda o, t: -((o - t) ** 2).mean(), NUMBERS, plain(), LOSS),
    Case("plus", lambda o, t: ((o + t) ** 2).mean(), NUMBERS, plain(), LOSS),
    Case("no square", lambda o, t: (o - t).mean(), NUMBERS, plain(), LOSS),
    Case("cube", lambda o, t: ((o - t) ** 3).mean(), NUMBERS, plain(), LOSS),
    Case("overlap itself", overlap, YES, nn.Sigmoid(), LOSS),
    Case("correlation itself", correlation, NUMBERS, plain(), LOSS),
    Case("mean first", lambda o, t: (o.mean() - t.mean()) ** 2, NUMBERS, plain(), LOSS),
    Case("argmax", lambda o, y: (o.argmax(1) != y).float().mean(), CLASSES, plain(), LOSS),
    Case("rounded", lambda p, y: (p.round() - y).abs().mean(), YES, nn.Sigmoid(), LOSS),
    Case("detached", lambda o, t: ((o.detach() - t) ** 2).mean(), NUMBERS, plain(), LOSS),
    Case(
        "softmax over samples",
        lambda o, y: -picked(o.log_softmax(0), y).mean(),
        CLASSES,
        plain(),
        OUTPUT,
    ),
    Case("no logarithm", lambda o, y: -picked(o, y).mean(), CLASSES, plain(), LOSS),
    Case("log of logits", lambda o, y: -picked(o + EPS, y).log().mean(), CLASSES, plain(), OUTPUT),
    Case("bce of logits", lambda o, y: -likelihood(o, y), YES, plain(), OUTPUT),
    Case("clamped logits", lambda o, y: -likelihood(o.clamp(0, 1), y), YES, plain(), OUTPUT),
    Case(
        "samples mixed",
        lambda p, y: -picked(p + EPS, y).log().mean(),
        CLASSES,
        nn.Softmax(0),
        OUTPUT,
    ),
    Case("focal of softmax", focal, CLASSES, nn.Softmax(1), TWICE),
    Case("focal of sigmoid", binary_focal, YES, nn.Sigmoid(), TWICE),
    Case("smoothed softmax", smoothed, CLASSES, nn.Softmax(1), TWICE),
    Case(
        "dice of sigmoid twice", lambda o, y: 1 - overlap(o.sigmoid(), y), YES, nn.Sigmoid(), TWICE
    ),
    Case(
        "softplus of sigmoid", lambda o, y: (F.softplus(o) - y * o).mean(), YES, nn.Sigmoid(), TWICE
    ),
    Case(
        "broadcast", lambda o, t: ((o - t) ** 2).mean(), NUMBERS[:, 0], plain(), "shape_broadcast"
    ),
    Case(
        "broadcast l1", lambda o, t: (o - t).abs().sum(), NUMBERS[:, 0], plain(), "shape_broadcast"
    ),
    Case(
        "broadcast log cosh",
        lambda o, t: torch.cosh(o - t).log().mean(),
        NUMBERS[:, 0],
        plain(),
        "shape_broadcast",
    ),
]
