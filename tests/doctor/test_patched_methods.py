"""Methods of torch that sickbay and others patch: each is called once, and restored."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.modules.loss import _Loss

from tests.doctor.loops import backward, undisturbed, watch
from tests.models import features, mlp


class Counted:
    """A class beside torch's loss, whose turn comes after it."""

    calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        Counted.calls += 1
        return super().__call__(*args, **kwargs)  # type: ignore[misc]


class Beside(nn.MSELoss, Counted, nn.Module):
    """A loss with such a class."""


def test_a_loss_that_shares_its_call_keeps_it() -> None:
    model = mlp()
    doctor = watch(model, torch.optim.SGD(model.parameters(), lr=0.1))
    Counted.calls = 0
    Beside()(torch.ones(2), torch.zeros(2))
    doctor.close()
    Beside()(torch.ones(2), torch.zeros(2))
    assert Counted.calls == 2


PLACES: dict[str, tuple[type, str]] = {
    "loss": (nn.MSELoss, "__call__"),
    "its base": (_Loss, "__call__"),
    "scaler": (GradScaler, "step"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("when", ["before", "between", "during"])
def test_what_others_have_patched_is_called_once_and_stays(
    place: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = PLACES[place]
    calls: list[int] = []

    def patch() -> None:
        inner = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            calls.append(1)
            return inner(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    model, other = mlp(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if when == "before":
        patch()
    doctor = watch(model, optimizer)
    if when != "before":
        patch()
    second = watch(other, torch.optim.SGD(other.parameters(), lr=0.1)) if when == "during" else None
    scaler = GradScaler("cpu")
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.MSELoss()(model(features()), torch.zeros(6, 4))
        backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()
        doctor.step(loss)
    assert len(calls) == 3
    assert doctor.history.step == 2
    assert undisturbed(doctor)
    doctor.close()
    if second is not None:
        second.close()
    nn.MSELoss()(torch.ones(2), torch.zeros(2))
    assert len(calls) == 3 + (place != "scaler")
    monkeypatch.undo()
    watch(other).close()  # what was put back may be our own wrapper
    assert "__call__" not in vars(_Loss)
    assert "_patch" not in GradScaler.step.__code__.co_names


def test_what_others_have_patched_is_called_by_every_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two threads are inside of the same loss at once, and somebody has wrapped it in between."""
    calls: list[int] = []
    both = threading.Barrier(2, timeout=30)

    class Meets(nn.MSELoss):
        def forward(self, value: Tensor, target: Tensor) -> Tensor:
            both.wait()
            return super().forward(value, target)

    first = watch(mlp())
    inner = _Loss.__call__

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return inner(*args, **kwargs)

    monkeypatch.setattr(_Loss, "__call__", counted)
    second, loss = watch(mlp()), Meets()
    threads = [
        threading.Thread(target=loss, args=(torch.ones(2), torch.zeros(2))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first.close()
    second.close()
    assert len(calls) == 2


def test_a_method_that_was_kept_while_it_was_watched_still_works() -> None:
    model, scaler = mlp(), GradScaler("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    step = scaler.step
    doctor.close()
    before = model.state_dict()["0.weight"].clone()
    backward(scaler.scale(model(features()).sum()))
    step(optimizer)
    assert not before.equal(model.state_dict()["0.weight"])
