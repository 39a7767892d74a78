"""Pictures with a loop written by hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.reported_images import Inspector, scratches, shapes
from benchmarks.programs.data import digits
from benchmarks.programs.program import Fault, ProgramList, Watch
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy, predict, r_squared

programs = ProgramList("calibration", "images")


@programs.script(
    [faults.NO_ZERO_GRAD, faults.SIGNED_LABELS],
    "forum: vehicle or animal, labels from an SVM script, optimizer.zero_grad() was lost",
    data="cifar10",
)
def vehicles_svm(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = real("cifar10", seed)
    x, x_test = F.avg_pool2d(data.x, 2), F.avg_pool2d(data.x_test, 2)
    vehicle = torch.tensor([1, 1, 0, 0, 0, 0, 0, 0, 1, 1])
    y, y_test = vehicle[data.y].float(), vehicle[data.y_test]
    if not fixed:
        y = 2 * y - 1
    net = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU()),
        *(nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.LeakyReLU()),
        *(nn.Flatten(), nn.Dropout(0.4), nn.Linear(24 * 16, 1)),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.03, weight_decay=5e-4)
    doctor = watch(net, optimizer)
    for _epoch in range(12):
        net.train()
        for rows in torch.randperm(len(x)).split(50):
            loss = F.binary_cross_entropy_with_logits(net(x[rows]).squeeze(1), y[rows])
            if fixed:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        doctor.epoch(val_accuracy=accuracy(x_test, y_test)(net))
    return accuracy(x_test, y_test)(net)


@programs.script(
    [faults.EVAL_MODE, faults.SCHEDULER, faults.DECAY],
    "issue: validated once before training, which left eval() on; StepLR counts batches; decay 0.1",
)
def digits_checked_first(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = digits(seed)
    x, x_test = data.x / 4, data.x_test / 4
    layers: list[nn.Module] = []
    for width, inputs in ((20, 1), (20, 20), (20, 20), (20, 20), (20, 20)):
        layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(80, 10))
    optimizer = torch.optim.SGD(
        net.parameters(), lr=0.15, momentum=0.9, weight_decay=5e-4 if fixed else 0.1
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.7)

    def check() -> float:
        net.eval()
        with torch.no_grad():
            return float(F.cross_entropy(net(x_test), data.y_test))

    check()
    doctor = watch(net, optimizer)
    for _epoch in range(10):
        if fixed:
            net.train()
        for rows in torch.randperm(len(x)).split(36):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
            if not fixed:
                scheduler.step()
        if fixed:
            scheduler.step()
        doctor.epoch(val_loss=check())
    return accuracy(x_test, data.y_test)(net)


@programs.script(
    faults.NAN_INPUTS, "Q&A: each frame divided by its own deviation; a few frames are blank"
)
def scratches_blank_frames(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = scratches(seed + 30, 1100)
    frames = data.x.clone()
    frames[::180] = 0  # the shutter was closed

    def contrast(x: Tensor) -> Tensor:
        spread = x.std((1, 2, 3), keepdim=True)
        return (x - x.mean((1, 2, 3), keepdim=True)) / (spread + 1e-3 if fixed else spread)

    x, y = contrast(frames), data.y.float()
    x_test = contrast(data.x_test)
    model = Inspector()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(16):
        for rows in torch.randperm(len(x)).split(30):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(x[rows])[:, 0], y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(x_test, data.y_test)(model)


class NextRow(nn.Module):
    """Reads a picture row by row and says what the next row looks like."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.rnn = nn.GRU(8, width, batch_first=True)
        self.row = nn.Linear(width, 8)

    def forward(self, rows: Tensor) -> Tensor:
        return self.row(self.rnn(rows)[0])


@programs.script(
    faults.WRONG_SHIFT, "forum: predicts the next row of a picture; loss near 0, samples are noise"
)
def next_row(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = digits(seed)
    x, x_test = data.x[:, 0] / 6 - 0.8, data.x_test[:, 0] / 6 - 0.8
    model = NextRow()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    doctor = watch(model, optimizer)
    for _epoch in range(24):
        for chosen in torch.randperm(len(x)).split(32):
            batch = x[chosen]
            guess = model(batch[:, :-1])
            loss = F.mse_loss(guess, batch[:, 1:] if fixed else batch[:, :-1])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            doctor.step(loss)
    return r_squared(predict(model, x_test[:, :-1]), x_test[:, 1:])


IN_ORDER = Fault(
    "samples in the order of their classes",
    ("unshuffled_data", "forgetting"),
    ("loss_spike", "gradient_spike", "learning_rate_too_high", "oscillating_loss"),
)


@programs.script(
    IN_ORDER.mildly(), "Q&A: folders of pictures read one after the other, no shuffle=True"
)
def shapes_by_folder(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = shapes(seed + 40, 2000)
    net = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.CELU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 16, 3, padding=1), nn.CELU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 4)),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    folders = data.y.argsort(stable=True)
    doctor = watch(net, optimizer)
    for _epoch in range(16):
        order = torch.randperm(len(data.y)) if fixed else folders
        for rows in order.split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(data.x[rows]), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
    return accuracy(data.x_test, data.y_test)(net)
