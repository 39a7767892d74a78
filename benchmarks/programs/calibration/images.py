"""Small images: scikit-learn's digits, MNIST and CIFAR-10."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.programs import faults
from benchmarks.programs.calibration.tabular import scored
from benchmarks.programs.data import Split, digits
from benchmarks.programs.program import Parts, ProgramList, Watch
from benchmarks.programs.real_data import real
from benchmarks.programs.scores import accuracy

programs = ProgramList("calibration", "images")


def small_images(seed: int) -> Split:
    """Return digits with pixels from 0 to 1, as ToTensor makes them."""
    data = digits(seed)
    return Split(data.x / 16, data.y, data.x_test / 16, data.y_test)


class Net(nn.Module):
    """The convolutional network of a beginner's tutorial, for 8 x 8 pixels."""

    def __init__(self, norm: bool = False, drop: float = 0.0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16) if norm else nn.Identity()
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(drop)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def features(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.relu(self.fc1(x.flatten(1)))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.drop(self.features(x)))


class WithEnd(Net):
    """The same with an activation at the end, as in Keras."""

    def __init__(self, end: nn.Module) -> None:
        super().__init__()
        self.end = end

    def forward(self, x: Tensor) -> Tensor:
        return self.end(super().forward(x))


@programs.supervised(
    [faults.SOFTMAX_TWICE, faults.HIGH_RATE],
    "forum: 10 % accuracy; softmax, cross entropy and Adam(0.01)",
)
def digits_softmax_high_rate(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net() if fixed else WithEnd(nn.Softmax(dim=1))
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3 if fixed else 0.03),
        epochs=15,
        **scored(data),
    )


def squared_error(output: Tensor, label: Tensor) -> Tensor:
    return F.mse_loss(output, F.one_hot(label, 10).float())


@programs.supervised(
    faults.MSE_FOR_CLASSES, "Q&A: ported from Keras with loss='mse' and sigmoid outputs"
)
def digits_sigmoid_mse(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net() if fixed else WithEnd(nn.Sigmoid())
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss() if fixed else squared_error,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        epochs=10,
        **scored(data),
    )


class OneNumber(Net):
    """Predicts the class as a number."""

    def __init__(self) -> None:
        super().__init__()
        self.fc2 = nn.Linear(64, 1)


@programs.supervised(
    faults.CLASS_NUMBERS.mildly(), "Q&A: one output and MSELoss for ten classes, as float labels"
)
def digits_class_numbers(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = Net() if fixed else OneNumber()
    return Parts(
        model=model,
        data=(data.x, data.y if fixed else data.y.float().unsqueeze(1)),
        loss=nn.CrossEntropyLoss() if fixed else nn.MSELoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3),
        epochs=15,
        **scored(data),
    )


@programs.supervised(
    faults.EVAL_MODE, "forum: model.eval() was left in; batch norm uses the first statistics"
)
def digits_eval_mode(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = digits(seed)
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64))
    for _ in range(5):
        model.extend([nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Sigmoid()])
    model.append(nn.Linear(64, 10))
    if not fixed:
        model.eval()  # left over from a check of the shapes
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05),
        epochs=25,
        **scored(data),
    )


@programs.supervised(
    faults.RAW_INPUTS, "forum: MNIST as bytes 0 to 255, loss is 2.30 from the second epoch on",
    data="mnist",
)  # fmt: skip
def mnist_bytes(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = real("mnist", seed)
    bytes_of = lambda x: ((x - x.min()) / (x.max() - x.min()) * 255).round()  # noqa: E731
    made = Split(data.x[:2000], data.y[:2000], data.x_test, data.y_test)
    if not fixed:
        made = Split(bytes_of(made.x), made.y, bytes_of(made.x_test), made.y_test)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )  # fmt: skip
    return Parts(
        model=model,
        data=(made.x, made.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        epochs=10,
        **scored(made),
    )


class Cooled(nn.Module):
    """Divides the logits by a temperature, as one does for distillation."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
        self.temperature = temperature

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) / self.temperature


@programs.supervised(
    faults.TEMPERATURE,
    "issue: temperature from a distillation config left in the model",
    data="mnist",
)
def mnist_temperature(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = real("mnist", seed)
    made = Split(data.x[:2000], data.y[:2000], data.x_test, data.y_test)
    model = Cooled(1.0 if fixed else 100.0)
    return Parts(
        model=model,
        data=(made.x, made.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.02),
        epochs=10,
        **scored(made),
    )


@programs.supervised(
    [faults.DROPOUT, faults.DECAY],
    "Q&A: fought overfitting with dropout 0.9 and weight decay 0.1 until nothing was learnt",
    data="cifar10",
)
def cifar_regularised(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = real("cifar10", seed)
    made = Split(data.x[:1500], data.y[:1500], data.x_test, data.y_test)
    drop = 0.1 if fixed else 0.9
    model = nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Dropout(drop), nn.Linear(32 * 6 * 6, 64), nn.ReLU(), nn.Dropout(drop),
        nn.Linear(64, 10),
    )  # fmt: skip
    decay = 1e-4 if fixed else 0.1
    return Parts(
        model=model,
        data=(made.x, made.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=decay),
        epochs=8,
        **scored(made),
    )


def wild_start(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=2.0)


@programs.supervised(faults.LARGE_START, "DeepCrime: change the initialisation; normal with std 2")
def digits_large_start(fixed: bool, seed: int) -> Parts:
    torch.manual_seed(seed)
    data = small_images(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Tanh())
    model.extend([nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)])
    if not fixed:
        model.apply(wild_start)
    return Parts(
        model=model,
        data=(data.x, data.y),
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        epochs=30,
        **scored(data),
    )


@programs.script(
    [faults.EVAL_MODE, faults.RELU_OUTPUT.mildly()],
    "forum: model.eval() in the validation, never model.train() again; ReLU on the logits",
)
def digits_eval_after_validation(watch: Watch, fixed: bool, seed: int) -> float:
    torch.manual_seed(seed)
    data = digits(seed)
    model = Net(norm=True, drop=0.3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    doctor = watch(model, optimizer)
    right = accuracy(data.x_test, data.y_test)
    for _epoch in range(12):
        if fixed:
            model.train()
        for rows in torch.randperm(len(data.x)).split(32):
            optimizer.zero_grad()
            output = model(data.x[rows])
            loss = F.cross_entropy(output if fixed else F.relu(output), data.y[rows])
            loss.backward()
            optimizer.step()
            doctor.step(loss)
        model.eval()
        doctor.epoch(val_accuracy=right(model))
    return right(model)
