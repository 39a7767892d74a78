"""Live treatment in loops out of the ordinary: several optimizers, scalers, closures, failures."""

import re
import subprocess
import sys
from collections.abc import Callable
from math import nan
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import SGD, Adam, Optimizer

from sickbay.doctor import Doctor, live_remedies, treatment
from sickbay.probe.finite import all_finite
from sickbay.remedies import ClipNorm
from tests.doctor.test_step_adjustments import find
from tests.doctor.treated import regression, remedies, state_of, treated
from tests.models import mlp


def test_two_optimizers_are_looked_at_one_by_one() -> None:
    model = nn.ModuleDict({"a": regression(), "b": mlp(1)})
    optimizers = [SGD(model["a"].parameters(), lr=0.1), Adam(model["b"].parameters(), lr=0.1)]
    doctor = treated(model, optimizers)
    for step in range(4):
        before = state_of(model)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = model["a"](torch.ones(4, 8)).sum() + model["b"](torch.ones(4, 8)).sum()
        loss.backward()
        if step == 2:
            next(model["b"].parameters()).grad.fill_(nan)  # type: ignore[union-attr]
        for optimizer in optimizers:
            optimizer.step()
        doctor.step(loss)
        changed = {
            name[0] for name, value in model.state_dict().items() if (value != before[name]).any()
        }
        assert changed == ({"a"} if step == 2 else {"a", "b"})
    assert "b.0.weight" in doctor.treatments[0].text


@pytest.mark.parametrize("fused", [False, True])
def test_a_gradient_scaler_skips_by_itself(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_remedies, "CHOICES", {"plateau": [ClipNorm(limit=0.5)]})
    model = regression()
    optimizer = Adam(model.parameters(), lr=0.01, fused=fused)
    doctor = treated(model, optimizer, problems=["non_finite"])
    scaler = GradScaler("cpu", init_scale=8.0)
    for step in range(6):
        optimizer.zero_grad()
        x = torch.full((4, 8), nan if step == 2 else 1.0)
        loss = 100 * model(x).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        doctor.step(1.0)
        if step == 3:
            assert doctor._treater is not None
            assert find(doctor._treater, 3)
    assert remedies(doctor) == ["clip_norm"]
    assert [event.step for event in doctor.events if event.kind == "skipped_step"] == [2]
    assert all_finite(model.parameters())
    assert scaler.get_scale() == 4.0
    grads = torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
    assert float(grads.norm()) == pytest.approx(0.5, rel=1e-3)  # unscaled in the end either way


def test_an_optimizer_with_a_closure_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def run(doctor_for: Callable[[nn.Module, Optimizer], Doctor | None]) -> list[float]:
        model = regression()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
        doctor = doctor_for(model, optimizer)
        x = torch.ones(4, 8)

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss: Tensor = model(x).square().mean()
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        losses = []
        for _ in range(5):
            loss = optimizer.step(closure)  # type: ignore[no-untyped-call]
            losses.append(loss.item())
            if doctor is not None:
                doctor.step(loss)
        if doctor is not None:
            assert doctor._treater is not None
            assert not find(doctor._treater, 10)
        return losses

    assert run(treated) == run(lambda *_: None)
    assert capsys.readouterr().err.count(treatment.ALONE) == 1


@pytest.mark.parametrize("fused", [False, True])
def test_what_a_dropped_batch_has_written_to_buffers_is_put_back(fused: bool) -> None:
    model = regression(norm=True)
    optimizer = Adam(model.parameters(), lr=0.01, fused=fused)
    doctor = treated(model, optimizer)
    scaler = GradScaler("cpu", init_scale=8.0)
    for step in range(40):
        optimizer.zero_grad()
        x = torch.randn(4, 8) * (nan if step in (25, 30) else 1.0)
        loss = model(x).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        doctor.step(loss)
    assert [each.step for each in doctor.treatments] == [25, 30]
    assert all("put back the buffers" in each.text for each in doctor.treatments)
    assert all_finite(model.state_dict().values())


def test_the_page_shows_what_the_example_does() -> None:
    root = Path(__file__).parents[2]
    example, page = (
        root / "examples" / "treat.py",
        (root / "docs" / "guide" / "treat.md").read_text("utf-8"),
    )
    loop, printed = re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)[:2]
    assert loop in example.read_text("utf-8")
    run = subprocess.run([sys.executable, example], check=True, capture_output=True, text=True)
    assert run.stderr == printed
    assert run.stdout.splitlines()[0] == "last loss 0.087"
