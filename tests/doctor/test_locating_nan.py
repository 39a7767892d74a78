"""The layer where a NaN began is named, also where no reading of the activations was planned."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import sickbay
from tests.models import features


class Fuse(nn.Module):
    """Puts out a NaN when it is told to."""

    blown = False

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.tensor(float("nan")) if self.blown else x


class Spread(nn.Module):
    """Changes its buffer and draws random numbers in every pass, as batch norm and dropout do."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            assert isinstance(self.passes, Tensor)
            self.passes += 1
            torch.rand(3)
            np.random.rand()
            random.random()
        return x


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Tanh(), Spread(), Fuse(), nn.Linear(8, 1)
    )


def run(
    spoil: Any, *, steps: int = 60, at: int = 50, **options: Any
) -> tuple[sickbay.Doctor, nn.Sequential]:
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = sickbay.watch(model, optimizer, **{"on_finding": "silent", **options})
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(features()).square().mean()
        if step == at:
            loss = spoil(model, loss)
        loss.backward()
        if step == at:
            spoil(model, None)
        optimizer.step()
        doctor.step(loss)
    return doctor, model


def in_forward(model: nn.Sequential, loss: Tensor | None) -> Tensor | None:
    if loss is None:
        return None
    model[4].blown = True  # type: ignore[assignment]
    spoilt: Tensor = model(features()).square().mean()
    return spoilt


def in_loss(_model: nn.Sequential, loss: Tensor | None) -> Tensor | None:
    return None if loss is None else loss * float("inf")


def in_gradient(model: nn.Sequential, loss: Tensor | None) -> Tensor | None:
    if loss is None:
        assert isinstance(model[5].weight, Tensor)
        assert model[5].weight.grad is not None
        model[5].weight.grad[0, 3] = float("nan")
    return loss


def in_weight(model: nn.Sequential, loss: Tensor | None) -> Tensor | None:
    if loss is None:
        return None
    with torch.no_grad():
        next(model.parameters())[0, 0] = float("inf")
    spoilt: Tensor = model(features()).square().mean()
    return spoilt


@pytest.mark.parametrize("every", ["auto", 1, 7])
@pytest.mark.parametrize(
    ("spoil", "layers", "words"),
    [
        pytest.param(in_forward, "4", "activation of 4 has", id="forward"),
        pytest.param(in_loss, "", "loss is inf", id="loss"),
        pytest.param(in_gradient, "5", "gradient of 5.weight has 1 NaN or Inf", id="gradient"),
        pytest.param(in_weight, "0", "weight of 0.weight has 1 NaN or Inf", id="weight"),
    ],
)
def test_the_first_layer_and_the_step_are_named(
    spoil: Any, layers: str, words: str, every: Any
) -> None:
    doctor, _ = run(spoil, every=every)
    finding = doctor.findings[0]
    assert (finding.problem, finding.severity) == ("non_finite", "critical")
    assert "".join(finding.layers[:1]) == layers
    if spoil is in_gradient and every == "auto":  # in so fast a loop seen at once, or in the weight
        assert finding.step in (50, 51)
    else:
        assert finding.step == 50
        assert words in finding.message
    assert len([each for each in doctor.findings if each.problem == "non_finite"]) == 1
    assert not [event for event in doctor.events if event.kind == "trouble"]


def test_looking_for_it_changes_nothing() -> None:
    states = []
    for watched in (True, False):
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        doctor = sickbay.watch(model, optimizer, on_finding="silent") if watched else None
        for step in range(60):
            model[4].blown = step == 50  # type: ignore[assignment]
            loss = model(features()).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if step != 50:
                optimizer.step()
            elif doctor:  # what the optimizer would do, without spoiling the weights
                doctor._probe._before_step(optimizer, (optimizer,), {})
            if doctor:
                doctor.step(loss)
        buffers = [value.clone() for value in model.state_dict().values()]
        states.append((buffers, torch.rand(1), np.random.rand(), random.random()))
        if doctor:
            assert doctor.findings[0].layers[0] == "4"
    (ours, *our_random), (plain, *plain_random) = states
    assert all(torch.equal(a, b) for a, b in zip(ours, plain, strict=True))
    assert our_random == plain_random


def test_without_activations_the_loss_is_named() -> None:
    doctor, _ = run(in_forward, activations=False)
    assert doctor.findings[0].message == "loss is nan"
    assert doctor.findings[0].step == 50
