"""Loops with one or two samples a step: what is healthy is left alone, what is sick is found."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import sickbay
from sickbay.doctor.governor import Every

Make = Callable[[nn.Module], torch.optim.Optimizer]
Data = tuple[Tensor, Tensor]


def blobs(offset: float = 3.0) -> Data:
    """Return two clouds of points that overlap a little."""
    y = torch.randint(0, 2, (200,))
    return torch.randn(200, 2) + offset * (y[:, None] - 0.5), y


def pictures() -> Data:
    """Return noise with a bright spot in one of four corners."""
    y = torch.randint(0, 4, (200,))
    x = torch.randn(200, 1, 6, 6) * 0.5
    for picture, corner in zip(x, y.tolist(), strict=True):
        picture[:, 3 * (corner // 2) :][:, :3, 3 * (corner % 2) :][:, :, :3] += 1.0
    return x, y


def points(activation: Callable[[], nn.Module]) -> nn.Module:
    return nn.Sequential(nn.Linear(2, 24), activation(), nn.Linear(24, 2))


def conv() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 4)),
    )


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.02)


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=0.003)


def trained(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: Data,
    size: int,
    steps: int,
    *,
    every: Every = 1,
    accuracy: bool = False,
    disturb: Callable[[int], object] = lambda _: None,
) -> sickbay.Doctor:
    doctor = sickbay.watch(model, optimizer, every=every, on_finding="silent")
    x, y = data
    criterion = nn.CrossEntropyLoss()
    for step in range(steps):
        disturb(step)
        chosen = torch.randint(0, len(x), (size,))
        optimizer.zero_grad()
        out = model(x[chosen])
        loss = criterion(out, y[chosen])
        loss.backward()
        optimizer.step()
        hits = (out.argmax(1) == y[chosen]).float().mean()
        doctor.step(loss, **({"accuracy": hits} if accuracy else {}))
    assert not [event for event in doctor.events if event.kind == "trouble"]
    return doctor


@pytest.mark.parametrize(
    ("build", "draw", "make", "size"),
    [
        pytest.param(lambda: points(nn.ReLU), blobs, momentum, 1, id="relu-momentum-1"),
        pytest.param(lambda: points(nn.ReLU), blobs, adam, 2, id="relu-adam-2"),
        pytest.param(lambda: points(nn.Tanh), blobs, momentum, 2, id="tanh-momentum-2"),
        pytest.param(conv, pictures, momentum, 1, id="cnn-momentum-1"),
        pytest.param(conv, pictures, sgd, 1, id="cnn-sgd-1"),
    ],
)
def test_healthy_loops_are_left_alone(
    build: Callable[[], nn.Module], draw: Callable[[], Data], make: Make, size: int
) -> None:
    torch.manual_seed(0)
    model = build()
    x, y = draw()
    doctor = trained(model, make(model), (x, y), size, steps=500)
    assert not doctor.findings
    with torch.no_grad():
        assert (model(x).argmax(1) == y).float().mean() > 0.85


@pytest.mark.parametrize("accuracy", [False, True], ids=["loss-only", "accuracy"])
@pytest.mark.parametrize("when", [0, 60], ids=["from-the-start", "later"])
def test_a_dead_layer_is_found(when: int, accuracy: bool) -> None:
    torch.manual_seed(0)
    model = points(nn.ReLU)

    def disturb(step: int) -> None:
        if step == when:
            nn.init.constant_(model.get_parameter("0.bias"), -100.0)

    optimizer = sgd(model)
    doctor = trained(model, optimizer, blobs(), 1, when + 30, accuracy=accuracy, disturb=disturb)
    (finding,) = doctor.findings
    expected = ("dead_units", ("1",)) if when else ("improper_initialisation", ("0",))
    assert (finding.problem, finding.layers) == expected
    assert when <= finding.step <= when + 16


def test_units_that_die_while_single_samples_come_out_right_are_found() -> None:
    torch.manual_seed(0)
    model = points(nn.ReLU)
    with torch.no_grad():
        model.get_parameter("0.bias")[1:] = -100.0  # all units but one
    doctor = trained(model, sgd(model), blobs(0.0), 1, 60, accuracy=True)
    assert [each.problem for each in doctor.findings] == ["dead_units"]


@pytest.mark.parametrize("size", [1, 2])
def test_a_rate_that_is_far_too_high_is_found(size: int) -> None:
    torch.manual_seed(0)
    model = points(nn.ReLU)
    optimizer = torch.optim.SGD(model.parameters(), lr=30.0)
    doctor = trained(model, optimizer, blobs(), size, 40)
    assert "learning_rate_too_high" in [each.problem for each in doctor.findings]


def test_weights_that_are_torn_apart_are_found() -> None:
    torch.manual_seed(0)
    model = points(nn.ReLU)

    def disturb(step: int) -> None:
        if step == 550:
            with torch.no_grad():
                for name in ("2.weight", "2.bias"):
                    model.get_parameter(name).mul_(-20.0)

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    doctor = trained(model, optimizer, blobs(), 1, 580, every={"batch": 50}, disturb=disturb)
    assert [each.problem for each in doctor.findings] == ["loss_spike"]
    assert 550 < doctor.findings[0].step < 550 + 16
