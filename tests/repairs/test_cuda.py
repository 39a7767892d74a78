"""Repairs on a GPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

import sickbay
from sickbay.demo.flawed_models import circles
from sickbay.isolated_random import IsolatedRandom
from sickbay.repairs.data import Data
from sickbay.repairs.run_settings import RunSettings
from sickbay.repairs.training_loop import live_copy
from tests.repairs.user_loops import step

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def dropping() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))


def pairs(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    points, labels = circles(count, seed=seed)
    return points, labels.long().flatten()


def fit(model: nn.Module, **more: Any) -> sickbay.Outcome:
    settings: dict[str, Any] = {
        "loss": nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])),
        "optimizer": torch.optim.Adam(model.parameters(), lr=1e-2),
        "validation": pairs(256, seed=1),
        "batch_size": 64,
        "epochs": 3,
        "progress": False,
    }
    return sickbay.fit(model, pairs(512), **settings | more)


def test_a_loss_goes_where_the_model_goes() -> None:
    model, loss = nn.Linear(2, 2), nn.CrossEntropyLoss(weight=torch.ones(2))
    recipe = sickbay.Recipe(model, loss, torch.optim.SGD(model.parameters(), lr=0.1))
    live: Any = live_copy(
        recipe, RunSettings(problems=(), treatable=(), epochs=1, device="meta"), None
    )
    assert live.model.weight.device.type == "meta"
    assert live.loss.weight.device.type == "meta"


@on_a_gpu
def test_numbers_of_the_gpu_are_drawn_from_a_seed_and_kept() -> None:
    torch.rand(1, device="cuda")
    before = torch.cuda.get_rng_state()
    with IsolatedRandom(1):
        first = torch.rand(3, device="cuda")
    with IsolatedRandom(1):
        again = torch.rand(3, device="cuda")
    with IsolatedRandom(2):
        other = torch.rand(3, device="cuda")
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@on_a_gpu
@pytest.mark.parametrize("moved", [False, True])
def test_a_repair_on_a_gpu(moved: bool) -> None:
    """The loss is on the CPU in both cases, the model in one."""
    outcomes = []
    for own in (1, 2):
        model = dropping() if moved else dropping().cuda()
        torch.cuda.manual_seed(own)  # that of the user, which is not to matter
        outcomes.append(fit(model, device="cuda" if moved else None))
    first, again = (each.model.state_dict() for each in outcomes)
    assert all(value.is_cuda for value in first.values())
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    assert len(outcomes[0].history) == 3


@on_a_gpu
def test_the_users_numbers_are_kept() -> None:
    torch.rand(1, device="cuda")
    model = dropping().cuda()
    before = torch.cuda.get_rng_state()
    fit(model)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@on_a_gpu
def test_batches_go_to_the_gpu() -> None:
    data = Data.of(pairs(64), pairs(64), batch_size=8, device="cuda")
    for inputs, targets in (next(data.batches(None, 0)), next(data.validation_batches())):
        assert inputs[0].is_cuda
        assert targets.is_cuda


@on_a_gpu
def test_heats_in_processes_on_a_gpu() -> None:
    outcome = fit(dropping().cuda(), workers=2)
    assert not outcome.attempts[0].result.startswith("failed")
    assert all(value.is_cuda for value in outcome.model.state_dict().values())


@on_a_gpu
def test_a_loop_of_ones_own_is_seeded_on_a_gpu() -> None:
    drawn: list[float] = []

    def train(recipe: sickbay.Recipe, doctor: Any) -> None:
        drawn.append(float(torch.rand(1, device="cuda")))
        points, labels = (each.cuda() for each in pairs(64))
        for _ in range(3):
            step(recipe, doctor, points, labels)

    for own in (1, 2):
        model = dropping().cuda()
        torch.cuda.manual_seed(own)
        loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))
        recipe = sickbay.Recipe(model, loss, torch.optim.Adam(model.parameters()), epochs=1)
        sickbay.repair(recipe, train=train, progress=False)
    assert drawn[0] == drawn[1]


@on_a_gpu
def test_a_repair_on_the_cpu_does_not_wake_the_gpu() -> None:
    code = (
        "import torch; from tests.repairs.test_cuda import dropping, fit; fit(dropping());"
        "assert not torch.cuda.is_initialized()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
