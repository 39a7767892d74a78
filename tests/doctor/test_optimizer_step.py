"""What the loop sees of a treated step: gradients in it, and its own settings after it."""

import copy
from collections.abc import Callable, Iterable
from math import nan
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.optim import SGD, Adam, Optimizer

from sickbay.doctor import Doctor
from sickbay.doctor.step_adjustments import Adjustment
from sickbay.probe.finite import all_finite
from sickbay.remedies import HalveLearningRate
from tests.doctor.loops import undisturbed
from tests.doctor.test_step_adjustments import find, treating, update
from tests.doctor.treated import learn, regression, remedies, state_of, treated

Make = Callable[[Iterable[Tensor]], Optimizer]


class Mending(SGD):
    """Looks at gradients in its own step, and calls the one that it overrides."""

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            norms = [torch.nan_to_num(each.grad).norm() for each in group["params"]]
            assert torch.stack(norms).isfinite().all()
        return super().step(closure)


class Counting(Optimizer):
    """Steps another optimizer, and counts in a group and in an attribute."""

    def __init__(self, params: Iterable[Tensor]) -> None:
        self.inner, self.count = Adam(params, lr=0.01), 0
        super().__init__(self.inner.param_groups, {})
        self.param_groups = self.inner.param_groups

    def step(self, closure: Any = None) -> Any:
        self.inner.step(closure)
        self.count += 1
        self.param_groups[0]["count"] = self.count
        with torch.no_grad():
            self.param_groups[0]["params"][0].mul_(0.9)


OPTIMIZERS: dict[str, Make] = {
    "sgd": lambda held: SGD(held, lr=0.02),
    "momentum": lambda held: SGD(held, lr=0.02, momentum=0.9, weight_decay=0.1, nesterov=True),
    "adam": lambda held: Adam(held, lr=0.01),
    "tensor-rate": lambda held: Adam(held, lr=torch.tensor(0.01), foreach=False),
    "adamw": lambda held: optim.AdamW(held, lr=0.01),
    "foreach": lambda held: optim.AdamW(held, lr=0.01, foreach=True, amsgrad=True),
    "fused": lambda held: optim.AdamW(held, lr=0.01, fused=True, amsgrad=True),
    "rmsprop": lambda held: optim.RMSprop(held, lr=0.005, centered=True),
    "adagrad": lambda held: optim.Adagrad(held, lr=0.05),
    "adadelta": lambda held: optim.Adadelta(held, lr=1.0),
    "nadam": lambda held: optim.NAdam(held, lr=0.01),
    "radam": lambda held: optim.RAdam(held, lr=0.01),
    "adamax": lambda held: optim.Adamax(held, lr=0.02),
    "asgd": lambda held: optim.ASGD(held, lr=0.02),
    "rprop": lambda held: optim.Rprop(held, lr=0.001),
    "overridden": lambda held: Mending(held, lr=0.02, momentum=0.9),
    "around-another": Counting,
}


def spoilt(model: nn.Module, optimizer: Optimizer) -> list[Tensor | None]:
    """Make a step with gradients that are not finite; return them."""
    optimizer.zero_grad()
    model(torch.full((2, 8), nan)).sum().backward()
    grads = [each.grad for each in model.parameters()]
    optimizer.step()
    return grads


def everything(model: nn.Module, optimizer: Optimizer) -> Any:
    inner = [optimizer.inner.state_dict()] if isinstance(optimizer, Counting) else []
    state = {name: each for name, each in vars(optimizer).items() if name == "count"}
    return copy.deepcopy([model.state_dict(), optimizer.state_dict(), state, *inner])


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_skipped_step_changes_nothing_and_shows_gradients(kind: str) -> None:
    model = regression()
    optimizer = OPTIMIZERS[kind](list(model.parameters()))
    rate, seen = optimizer.param_groups[0]["lr"], []

    def look(optimizer: Optimizer, *_: Any) -> None:
        seen.append([torch.nan_to_num(each.grad) for each in optimizer.param_groups[0]["params"]])

    optimizer.register_step_pre_hook(look)
    optimizer.register_step_post_hook(look)
    doctor = treated(model, optimizer)
    optimizer.register_step_pre_hook(look)
    optimizer.register_step_post_hook(look)
    for steps in (0, 3):  # without a state, and with one
        learn(model, optimizer, doctor, steps=steps)
        seen.clear()
        before = everything(model, optimizer)
        grads = spoilt(model, optimizer)
        doctor.step(nan)
        assert same(everything(model, optimizer), before)
        assert all(each.grad is grad for each, grad in zip(model.parameters(), grads, strict=True))
        assert len(seen) >= 4
    assert optimizer.param_groups[0]["lr"] is rate
    assert remedies(doctor) == 2 * ["skip_bad_batches"]
    assert undisturbed(doctor)


def test_a_hook_after_a_skipped_step_sees_the_weights_as_they_were() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02, momentum=0.9)
    seen: list[dict[str, Tensor]] = []
    optimizer.register_step_post_hook(lambda *_: seen.append(state_of(model)))
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, steps=3)
    before = state_of(model)
    spoilt(model, optimizer)
    assert same(seen[-1], before)


def halved(monkeypatch: pytest.MonkeyPatch) -> tuple[nn.Module, Optimizer, Doctor]:
    model, optimizer, doctor, treater = treating(monkeypatch, HalveLearningRate())
    assert find(treater, 10)
    return model, optimizer, doctor


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_a_step_that_fails_leaves_no_rate_behind(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, optimizer, doctor = halved(monkeypatch)
    used: list[float] = []

    def fail(optimizer: Optimizer, *_: Any) -> None:
        used.append(optimizer.param_groups[0]["lr"])
        raise error

    failing = optimizer.register_step_pre_hook(fail)
    for _ in range(3):
        with pytest.raises(type(error)):
            update(model, optimizer)
        assert optimizer.param_groups[0]["lr"] == 0.1  # at once, for whoever catches it
    failing.remove()
    assert used == 3 * [0.05]
    update(model, optimizer)
    assert undisturbed(doctor)


def test_a_skipped_step_that_fails_leaves_nothing_behind() -> None:
    model = regression()
    optimizer = SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=0.1)
    doctor = treated(model, optimizer)
    learn(model, optimizer, doctor, steps=3)
    before = everything(model, optimizer)
    handle = optimizer.register_step_post_hook(fail)  # the weights are written by then
    hooks: Any = optimizer._optimizer_step_post_hooks
    hooks.move_to_end(handle.id, last=False)
    with pytest.raises(RuntimeError, match="out of memory"):
        spoilt(model, optimizer)
    assert same(everything(model, optimizer), before)
    first = next(model.parameters()).grad
    assert first is not None
    assert first.isnan().any()
    handle.remove()
    update(model, optimizer)
    assert not same(everything(model, optimizer), before)


def fail(*_: Any) -> None:
    raise RuntimeError("out of memory")


def test_whoever_goes_around_the_shell_is_treated_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer, doctor = halved(monkeypatch)
    assert isinstance(optimizer, SGD)
    before = state_of(model)
    optimizer.zero_grad()
    model(torch.full((2, 8), nan)).sum().backward()
    SGD.step(optimizer)
    assert same(state_of(model), before)
    failing = optimizer.register_step_pre_hook(fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        SGD.step(optimizer)
    failing.remove()
    optimizer.zero_grad()
    model(torch.ones(2, 8)).sum().backward()
    SGD.step(optimizer)
    assert not same(state_of(model), before)
    assert all_finite(model.parameters())
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert undisturbed(doctor)


def test_a_step_within_a_step_is_treated_once() -> None:
    model = regression()
    optimizer = Mending(model.parameters(), lr=0.02)
    SGD([nn.Parameter(torch.zeros(1))])  # now both kinds call the hooks of an optimizer
    doctor = treated(model, optimizer)
    start = state_of(model)
    full = update(model, optimizer)
    assert doctor._treater is not None
    doctor._treater._adjuster.adjustments.append(Adjustment(0.5))
    model.load_state_dict(start)
    assert torch.allclose(update(model, optimizer), full / 2, atol=1e-7)
    assert optimizer.param_groups[0]["lr"] == 0.02
