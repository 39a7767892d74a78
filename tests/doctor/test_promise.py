"""The promise: training is what it is without us, whatever its model and its tools are."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.modules.loss import _Loss
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

import sickbay
from tests.doctor.loops import backward, learn, table, undisturbed, watch
from tests.doctor.test_harmless import hooks_of
from tests.models import features, mlp

every_way = pytest.mark.parametrize("every", [1, "auto"])


def words(steps: int, every: Any) -> list[float]:
    """Train an embedding whose gradients become sparse halfway; return the losses."""
    torch.manual_seed(0)
    model = nn.Embedding(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = None if every is None else watch(model, optimizer, every=every)
    losses = []
    for step in range(steps):
        model.sparse = step >= steps // 2
        losses.append(learn(model, optimizer, torch.arange(16) % 10).item())
        if doctor is not None:
            doctor.step(losses[-1])
    assert doctor is None or undisturbed(doctor)
    return losses


@every_way
def test_gradients_may_become_sparse(every: Any) -> None:
    assert words(120, every) == words(120, None)


@every_way
def test_parameters_may_become_complex(every: Any) -> None:
    warnings.simplefilter("error")
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer, every=every)
    inputs = features()
    for step in range(120):
        if step == 60:
            for parameter in model.parameters():
                parameter.data, parameter.grad = parameter.data.to(torch.complex64), None
            inputs = inputs.to(torch.complex64)
        optimizer.zero_grad()
        loss = model(inputs).abs().square().mean()
        backward(loss)
        optimizer.step()
        doctor.step(loss)
    assert undisturbed(doctor)
    assert doctor.history.step == 119


def test_an_optimizer_may_lose_its_groups() -> None:
    model = mlp()
    groups: list[dict[str, Any]] = [{"params": []}, {"params": list(model.parameters())}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    doctor = watch(model, optimizer)
    for step in range(6):
        if step == 3:
            optimizer.param_groups.clear()
        doctor.step(learn(model, optimizer, features()))
    assert undisturbed(doctor)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_scripted_modules_are_watched_as_far_as_possible(inside: bool) -> None:
    scripted: nn.Module = torch.jit.script(mlp())
    model = nn.Sequential(scripted, nn.Linear(4, 1)) if inside else scripted
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(3):
        doctor.step(learn(model, optimizer, features()))
    assert len(table(doctor, "gradient").names) == len(list(model.parameters()))
    assert table(doctor, "weight").row(table(doctor, "weight").names[0])["update_ratio"] > 0
    assert [each.text for each in doctor.events if "torch.jit.script take no hooks" in each.text]
    assert undisturbed(doctor)


def exported(model: nn.Module, strict: bool) -> list[str]:
    program = torch.export.export(model, (features(),), strict=strict)
    return [node.name for node in program.graph.nodes]


def traced(model: nn.Module) -> list[str]:
    program: Any = torch.jit.trace(model, features())  # type: ignore[no-untyped-call]
    return [node.kind() for node in program.inlined_graph.nodes()]


TOOLS: dict[str, Callable[[nn.Module], object]] = {
    "trace": traced,
    "fx": lambda model: torch.fx.symbolic_trace(model).code,
    "export": lambda model: exported(model, strict=False),
    "strict export": lambda model: exported(model, strict=True),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_of_ours_is_traced_or_exported(tool: str, steps: int) -> None:
    plain, model = mlp(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)
    for _ in range(steps):
        doctor.step(learn(model, optimizer, features()))
    assert TOOLS[tool](model) == TOOLS[tool](plain)
    doctor.step(learn(model, optimizer, features()))
    assert undisturbed(doctor)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_scripting_a_watched_model_says_what_to_do() -> None:
    model = mlp()
    doctor = watch(model, torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(sickbay.SickbayError, match=r"call doctor\.close\(\) first"):
        torch.jit.script(model)
    doctor.close()
    torch.jit.script(model)


def with_a_bad_batch(watching: bool, everywhere: bool) -> tuple[list[float], Counter[str]]:
    """Train with a NaN in one batch and hooks that keep count; return the losses and the counts.

    The hooks change what layers put out by how often they were called, as sign-flipping ones do.
    """
    torch.manual_seed(0)
    model, seen = mlp(), Counter[str]()
    handles = []

    def before(*_: Any) -> None:
        seen["before"] += 1

    def after(_layer: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        seen["after"] += 1
        return output * (1 + seen["after"] % 3)

    for layer in [] if everywhere else model.modules():
        layer.register_forward_pre_hook(before)
        layer.register_forward_hook(after)
    if everywhere:
        hook: Any = after  # torch's types allow no hook that returns something
        handles = [register_module_forward_hook(hook), register_module_forward_pre_hook(before)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    doctor = watch(model, optimizer, every={"gradient": 1}) if watching else None
    losses = []
    for step in range(6):
        if step == 2:
            model[0].bias.data[0] = nan  # type: ignore[index]
        loss = learn(model, optimizer, features())
        losses.append(loss.item())
        if doctor is not None:
            doctor.step(loss)
    for handle in handles:
        handle.remove()
    assert doctor is None or [each.problem for each in doctor.findings] == ["non_finite"]
    return losses, seen


@pytest.mark.parametrize("everywhere", [False, True])
def test_locating_a_nan_is_seen_by_nobody(everywhere: bool) -> None:
    plain, watched = (with_a_bad_batch(each, everywhere) for each in (False, True))
    assert str(watched) == str(plain)  # NaN is not equal to itself


def test_locating_a_nan_leaves_modules_alone_that_a_copy_shares() -> None:
    norm = nn.BatchNorm1d(8)

    class Shares(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(8, 8), norm, nn.Linear(8, 1)
            self.apply_norm: Any = lambda value: norm(value)  # what a copy calls too

        def forward(self, value: Tensor) -> Tensor:
            found: Tensor = self.last(self.apply_norm(self.first(value)) / self.scale)
            return found

        scale = 1.0

    model = Shares()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer, every={"gradient": 1})
    for step in range(4):
        model.scale = 0.0 if step == 3 else 1.0
        doctor.step(learn(model, optimizer, features()))
    assert int(norm.num_batches_tracked or 0) == 4
    assert doctor.findings


class Itself(nn.Linear):
    """A layer that is its own copy, as one that is frozen may be."""

    def __deepcopy__(self, _memo: object) -> Itself:
        return self


class Shallow(nn.Linear):
    """A layer whose copy has the same hooks."""

    def __deepcopy__(self, _memo: object) -> Shallow:
        return copy.copy(self)


@pytest.mark.parametrize("kind", [Itself, Shallow])
def test_locating_a_nan_leaves_hooks_alone_that_a_copy_shares(kind: type[nn.Linear]) -> None:
    layer = kind(8, 1)
    calls: list[int] = []
    layer.register_forward_hook(lambda *_: calls.append(1))
    model = nn.Sequential(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    doctor = watch(model, optimizer, every={"gradient": 1})
    for step in range(4):
        if step == 2:
            layer.bias.data[0] = nan
        doctor.step(learn(model, optimizer, features()))
    doctor.close()
    assert doctor.findings
    assert len(calls) == 4
    assert len(layer._forward_hooks) == 1


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


def test_a_model_has_one_doctor() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plain = len(model._forward_hooks)
    doctors = [watch(model, optimizer) for _ in range(5)]
    hooks = len(model._forward_hooks)
    for _ in range(2):
        loss = learn(model, optimizer, features())
        assert [doctor.step(loss) for doctor in doctors] == [[]] * 5
    told = [[each.text for each in doctor.events if each.kind == "notice"] for doctor in doctors]
    assert ["watched already" in str(each) for each in told] == [False, True, True, True, True]
    assert doctors[-1].history.step == 1
    doctors[-1].close()
    assert len(model._forward_hooks) == plain < hooks <= plain + 2


def test_a_doctor_that_nobody_holds_makes_room_for_the_next() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        watch(model, optimizer)
    assert len(optimizer._optimizer_step_pre_hooks) == 1


class Untold(Exception):  # noqa: N818
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_trouble_whose_error_has_no_text_is_still_reported() -> None:
    def fail(_finding: sickbay.Finding) -> None:
        raise Untold

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding=fail, every=1)
    learn(model, optimizer, features())
    doctor.step(nan)
    troubles = [each.text for each in doctor.events if each.kind == "trouble"]
    assert troubles == ["on_finding failed and is switched off (Untold)."]


def test_a_model_is_saved_and_copied_without_our_hooks(tmp_path: Path) -> None:
    model = mlp()
    model.register_forward_hook(noted)
    plain, state = hooks_of(model), vars(nn.Module).get("__getstate__")
    doctor = watch(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert hooks_of(model) > plain
    assert hooks_of(copy.deepcopy(model)) == plain
    assert hooks_of(pickle.loads(pickle.dumps(model))) == plain
    torch.save(model, tmp_path / "model.pt")
    assert not [
        name
        for name in torch.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "model.pt")
        if not name.startswith(("torch.", f"{__name__}."))
    ]
    assert hooks_of(model) > plain
    doctor.close()
    assert vars(nn.Module).get("__getstate__") is state


def noted(*_: Any) -> None:
    """Be a hook of the user's own."""


@pytest.mark.parametrize("accumulated", [1, 20])
def test_an_optimizer_that_is_replaced_is_missed(accumulated: int) -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = watch(model, optimizer)

    def missed() -> bool:
        return any("another optimizer" in event.text for event in doctor.events)

    for call in range(10 * accumulated):
        backward(model(features()).square().mean())
        if call % accumulated == accumulated - 1:
            optimizer.step()
        doctor.step(1.0)
    assert not missed()
    for _ in range(max(64, 8 * accumulated)):
        doctor.step(1.0)
    assert missed()
