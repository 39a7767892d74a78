"""A body that was trained first, and then something else on top of it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.reported_images import by_accuracy
from benchmarks.programs.data import Split, digits
from benchmarks.programs.program import Fault, Parts, ProgramList, Watch
from benchmarks.programs.scores import accuracy, predict

programs = ProgramList("calibration", "fine-tuning")


class Body(nn.Module):
    """Turns a picture of 8 x 8 pixels into 32 numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 24, 3, padding=1)
        self.squeeze = nn.Linear(24 * 4, 32)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.silu(self.conv1(x)), 2)
        x = F.max_pool2d(F.silu(self.conv2(x)), 2)
        return self.squeeze(x.flatten(1))


class Tuned(nn.Module):
    """A body and a new head, whose answers may be cooled down."""

    def __init__(self, body: Body, classes: int, temperature: float = 1.0) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(32, classes)
        self.temperature = temperature

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.silu(self.body(x))) / self.temperature


def upright(seed: int) -> Split:
    """Return digits with mean 0 and deviation 1."""
    data = digits(seed)
    return Split(data.x / 6 - 0.81, data.y, data.x_test / 6 - 0.81, data.y_test)


def fallen(seed: int, kept: int = 900) -> Split:
    """Return digits that lie on their side, as white on black."""
    data = upright(seed)
    x, x_test = (-each.transpose(2, 3).flip(3) for each in (data.x[:kept], data.x_test))
    return Split(x, data.y[:kept], x_test, data.y_test)


def trained_body(seed: int) -> Body:
    """Return a body that knows small upright digits from large ones."""
    torch.manual_seed(seed)
    data, model = upright(seed + 1), Tuned(Body(), 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _epoch in range(3):
        for rows in torch.randperm(len(data.x)).split(50):
            optimizer.zero_grad()
            F.cross_entropy(model(data.x[rows]), (data.y[rows] > 4).long()).backward()
            optimizer.step()
    return model.body


@programs.supervised(
    [faults.FROZEN, faults.TEMPERATURE],
    "issue: the body is frozen though the new pictures look different; logits divided by 100",
)
def fallen_frozen(fixed: bool, seed: int) -> Parts:
    body, data = trained_body(seed), fallen(seed)
    if not fixed:
        for parameter in body.parameters():
            parameter.requires_grad = False
    model = Tuned(body, 10, 1.0 if fixed else 100.0)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(
            [
                {"params": model.body.parameters(), "lr": 1e-3},
                {"params": model.head.parameters(), "lr": 3e-3},
            ]
        ),
        epochs=12,
        batch_size=30,
        validation=(data.x_test, data.y_test),
        **by_accuracy(data),
    )


@programs.script(
    [faults.SOFTMAX_OVER_BATCH, faults.NOT_IN_OPTIMIZER],
    "forum: log_softmax(dim=0), and the optimizer only knows the head",
)
def fallen_over_batch(watch: Watch, fixed: bool, seed: int) -> float:
    body, data = trained_body(seed), fallen(seed)
    model = Tuned(body, 10)
    with torch.no_grad():
        model.head.bias.zero_()
    chosen = model.parameters() if fixed else model.head.parameters()
    optimizer = torch.optim.AdamW(chosen, lr=2e-3, weight_decay=0.01)
    doctor = watch(model, optimizer)
    for _epoch in range(12):
        for rows in torch.randperm(len(data.x)).split(45):
            shares = F.log_softmax(model(data.x[rows]), dim=1 if fixed else 0)
            loss = F.nll_loss(shares, data.y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(data.x_test, data.y_test)(model))
    return accuracy(data.x_test, data.y_test)(model)


ONLY_ALIKE = Fault(
    "no pairs of different classes",
    ("embedding_collapse", "constant_prediction", "bad_targets", "improper_loss"),
    ("gradient_collapse", "vanishing_gradient"),
)


def pairs(y: Tensor, different: bool) -> tuple[Tensor, Tensor]:
    """Return the numbers of two samples each: of one class, or one half of two classes."""
    first = torch.randperm(len(y))
    second = torch.empty_like(first)
    for place, one in enumerate(first):
        alike = y == y[one]
        wanted = ~alike if different and place % 2 else alike
        options = wanted.nonzero()[:, 0]
        second[place] = options[torch.randint(len(options), ())]
    return first, second


@programs.script(ONLY_ALIKE, "Q&A: a siamese network says that any two digits are the same")
def siamese_alike(watch: Watch, fixed: bool, seed: int) -> float:
    body, data = trained_body(seed), upright(seed)
    optimizer = torch.optim.Adam(body.parameters(), lr=1e-3)
    doctor = watch(body, optimizer)
    for _epoch in range(24):
        one, two = pairs(data.y, different=fixed)
        for left, right in zip(one.split(32), two.split(32), strict=True):
            first, second = body(data.x[left]), body(data.x[right])
            distance = F.pairwise_distance(first, second)
            same = (data.y[left] == data.y[right]).float()
            loss = (same * distance**2 + (1 - same) * F.relu(2 - distance) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    one, two = pairs(data.y_test, different=True)
    apart = F.pairwise_distance(predict(body, data.x_test[one]), predict(body, data.x_test[two]))
    same = data.y_test[one] == data.y_test[two]
    return float(((apart < 1) == same).double().mean())
