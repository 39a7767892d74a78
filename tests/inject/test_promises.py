"""Every fault comes at its step, in any loop, and leaves nothing behind."""

import copy
import pickle
from contextlib import suppress
from math import isnan

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

import sickbay
from sickbay import inject
from sickbay.inject import Injection
from sickbay.inject.fault_text import FAULTS
from tests.inject.loops import EACH, every_fault, hooks_of, same, train
from tests.models import FAMILIES, compiled, mlp


def test_the_table_above_has_every_fault() -> None:
    assert {*EACH, "shuffle_labels"} == set(FAULTS)
    assert all(getattr(inject, name) is fault for name, fault in FAULTS.items())


@every_fault
def test_with_no_fault_due_training_is_bit_for_bit_the_same(name: str) -> None:
    assert same(train(), train(lambda model, used: EACH[name](model, used, 1000)))


@every_fault
def test_nothing_changes_before_the_step_and_something_does_at_it(name: str) -> None:
    plain = train()
    faults: list[Injection] = []

    def make(model: nn.Module, used: Optimizer) -> Injection:
        faults.append(EACH[name](model, used, 4))
        return faults[0]

    faulty = train(make)
    assert faults[0].steps == [4]
    late = name == "raise_learning_rate"  # the step itself is the fault: it shows in the next
    assert same(plain, faulty, 5 if late else 4)
    assert not same(plain, faulty, 6 if late else 5)


@every_fault
def test_everything_is_removed_even_after_an_exception(name: str) -> None:
    model = mlp()
    used = AdamW(model.parameters())
    with suppress(KeyboardInterrupt), EACH[name](model, used, 0):
        assert hooks_of(model, used) > 1
        raise KeyboardInterrupt
    assert hooks_of(model, used) == 0
    assert used.param_groups[0]["lr"] == 1e-3


@every_fault
def test_the_user_s_random_numbers_are_not_drawn_from(name: str) -> None:
    torch.manual_seed(3)
    model = mlp()
    used = SGD(model.parameters(), lr=0.1)
    x, before = torch.ones(2, 8), torch.get_rng_state()
    with EACH[name](model, used, 0):
        model(x).sum().backward()
        used.step()
    assert torch.equal(torch.get_rng_state(), before)


@every_fault
def test_a_model_can_be_copied_and_pickled_meanwhile(name: str) -> None:
    model = mlp()
    used = AdamW(model.parameters())
    x = torch.ones(2, 8)
    plain = model(x)
    with EACH[name](model, used, 0):
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert torch.equal(twin(x), plain)
            twin(x).sum().backward()
            gradients = [each.grad for each in twin.parameters() if each.grad is not None]
            assert gradients
            assert all(each.isfinite().all() for each in gradients)
        copy.deepcopy(used)


@pytest.mark.filterwarnings("ignore:The .grad attribute", "ignore:.*torch.jit")
@every_fault
def test_a_compiled_model_gets_the_fault_at_its_step(name: str) -> None:
    plain = train(build=lambda: compiled(mlp()))
    faulty = train(lambda m, used: EACH[name](m, used, 4), build=lambda: compiled(mlp()))
    late = name == "raise_learning_rate"
    assert same(plain, faulty, 5 if late else 4)
    assert not same(plain, faulty, 6 if late else 5)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_models_takes_faults_in_gradients_and_weights(family: str) -> None:
    make, batch = FAMILIES[family]
    model = make()
    used = SGD(model.parameters(), lr=0.1)
    with inject.nan_weight(model, used, at=1) as weight, inject.nan_gradient(model, used, at=0):
        for _ in range(2):
            used.zero_grad()
            loss = model(batch()).sum()
            loss.backward()
            bad = [p for p in model.parameters() if p.grad is not None and p.grad.isnan().any()]
            assert bad
            assert isnan(loss.item()) is (weight.step == 1)
            with torch.no_grad():
                for each in model.parameters():
                    each.grad = torch.zeros_like(each)  # the gradient's NaN is not to stay
            used.step()


def test_a_step_that_a_gradient_scaler_drops_is_spoilt_once() -> None:
    model = mlp()
    used = SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scales = []
    with inject.nan_gradient(model, used, at=1) as fault:
        for _ in range(4):
            used.zero_grad()
            scaler.scale(model(torch.ones(2, 8)).sum()).backward()
            scaler.step(used)
            scaler.update()
            scales.append(scaler.get_scale())
    assert scales == [4, 2, 2, 2]
    assert fault.steps == [1]


def test_backward_inside_the_optimizer_step_works_too() -> None:
    model = nn.Linear(2, 1, bias=False)
    used = torch.optim.LBFGS(model.parameters(), lr=0.0, max_iter=2)
    norms: list[float] = []

    def closure() -> Tensor:
        used.zero_grad()
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        assert model.weight.grad is not None
        norms.append(float(model.weight.grad.abs().max()))
        return loss  # type: ignore[no-any-return]

    starts = []
    with inject.scale_gradients(model, used, 20, at=1):
        for _ in range(3):
            starts.append(len(norms))
            used.step(closure)  # type: ignore[no-untyped-call]
    assert [norms[start] for start in starts] == [1, 20, 1]


def test_an_earlier_doctor_sees_the_nan_at_that_step() -> None:
    torch.manual_seed(0)
    model = mlp()
    used = SGD(model.parameters(), lr=0.01)
    with (
        sickbay.watch(model, used, every=1, on_finding="silent") as doctor,
        inject.nan_gradient(model, used, at=3, layer="4"),
    ):
        for step in range(4):
            used.zero_grad()
            loss = model(torch.randn(4, 8)).square().mean()
            loss.backward()
            used.step()
            doctor.step(loss)
            (table,) = doctor.history.tables("gradient", 1)
            assert (table.step, table.is_finite) == (step, step < 3)
    assert [(each.problem, each.step) for each in doctor.findings] == [("non_finite", 3)]
    assert table.column("nonfinite").sum() == 1
    assert any(table.row(f"4.{name}")["nonfinite"] for name in ("weight", "bias"))


def test_a_doctor_sees_a_spoilt_batch_as_the_loop_s_own() -> None:
    torch.manual_seed(0)
    model = mlp()
    used = SGD(model.parameters(), lr=0.01)
    with (
        sickbay.watch(model, used, every=100, on_finding="silent") as doctor,
        inject.nan_batch(model, used, at=5),
    ):
        for _ in range(7):
            used.zero_grad()
            loss = model(torch.randn(4, 8)).square().mean()
            loss.backward()
            used.step()
            doctor.step(loss)
    first = doctor.findings[0]
    assert (first.problem, first.step) == ("non_finite", 5)
    assert first.message.startswith("input of the model")
