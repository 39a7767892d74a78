"""Targets worked out from the gradient of the outputs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as f

from sickbay.probe import recover_targets

NUMBERS = torch.randn(32, 3, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(32) % 3
CASES: dict[str, tuple[Callable[..., Tensor], Tensor]] = {
    "mse": (f.mse_loss, NUMBERS),
    "bce_logits": (f.binary_cross_entropy_with_logits, (NUMBERS > 0).float()),
    "cross_entropy": (f.cross_entropy, LABELS),
    "poisson_nll": (f.poisson_nll_loss, NUMBERS.abs().round()),
}


def graded(loss: str, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    outputs = torch.randn(32, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    compare, targets = CASES[loss]
    value = compare(outputs, targets)
    (scale * value).backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    return value.detach(), outputs.detach(), outputs.grad, targets


@pytest.mark.parametrize("loss", CASES)
def test_they_come_out_as_they_went_in(loss: str) -> None:
    value, outputs, gradient, targets = graded(loss)
    found = recover_targets.targets(loss, value, outputs, gradient)
    assert found is not None
    assert torch.allclose(found.float(), targets.float(), atol=1e-4)


@pytest.mark.parametrize("loss", ["mse", "bce_logits", "poisson_nll"])
def test_a_scaled_loss_is_noticed(loss: str) -> None:
    value, outputs, gradient, _ = graded(loss, scale=1024.0)
    assert recover_targets.targets(loss, value, outputs, gradient) is None


@pytest.mark.parametrize("loss", CASES)
def test_a_gradient_of_another_loss_is_noticed(loss: str) -> None:
    value, outputs, _, _ = graded(loss)
    assert recover_targets.targets(loss, 3 * value, outputs, torch.zeros_like(outputs)) is None


def test_other_losses_are_left_alone() -> None:
    value, outputs, gradient, _ = graded("mse")
    assert recover_targets.targets("l1", value, outputs, gradient) is None
    assert recover_targets.targets("", value, outputs, gradient) is None


def test_constant_targets_come_out_constant() -> None:
    outputs = torch.randn(64, 1, generator=torch.Generator().manual_seed(2)).requires_grad_()
    value = f.mse_loss(outputs, torch.full((64, 1), 0.3))
    value.backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    found = recover_targets.targets("mse", value.detach(), outputs.detach(), outputs.grad)
    assert found is not None
    assert len(set(found.flatten().tolist())) == 1


def test_values_that_are_no_numbers_do_no_harm() -> None:
    outputs = torch.tensor([[1.0], [torch.nan]])
    found = recover_targets.targets("mse", torch.tensor(torch.nan), outputs, torch.ones(2, 1))
    assert found is None


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        pytest.param(32, {}, True, id="all-rows"),
        pytest.param(3, {}, True, id="the-first-rows"),
        pytest.param(32, {"label_smoothing": 0.2}, False, id="smoothed"),
        pytest.param(32, {"weight": torch.tensor([1.0, 2.0, 3.0])}, False, id="weighted"),
        pytest.param(32, {"reduction": "sum"}, False, id="summed"),
        pytest.param(32, {"ignore_index": 0}, False, id="some-ignored"),
    ],
)
def test_classes(rows: int, options: dict[str, Any], expected: bool) -> None:
    outputs = torch.randn(32, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    f.cross_entropy(outputs, LABELS, **options).backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    found = recover_targets.classes(outputs.detach()[:rows], outputs.grad[:rows], 32)
    assert (found is not None) is expected
    if found is not None:
        assert found.tolist() == LABELS[:rows].tolist()


def test_classes_of_half_precision() -> None:
    outputs = torch.randn(32, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    f.cross_entropy(outputs, LABELS).backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    halves = outputs.detach().bfloat16(), outputs.grad.bfloat16()
    found = recover_targets.classes(*halves, 32)
    assert found is not None
    assert found.tolist() == LABELS.tolist()


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_classes_of_values_that_are_no_numbers(value: float) -> None:
    outputs = torch.full((4, 3), value)
    assert recover_targets.classes(outputs, torch.zeros(4, 3), 4) is None
    assert recover_targets.classes(torch.zeros(4, 3), outputs, 4) is None


def broadcast(targets: Tensor, extra: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    outputs = torch.randn(len(targets), 1, generator=torch.Generator().manual_seed(3))
    outputs.requires_grad_()
    value = ((outputs - targets) ** 2).mean() + extra
    value.backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    return value.detach(), outputs.detach(), outputs.grad


@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_targets_that_were_broadcast_keep_their_mean_and_variance(scale: float) -> None:
    targets = scale * (3 + NUMBERS[:, 0])
    found = recover_targets.stand_ins(*broadcast(targets))
    assert found is not None
    assert found.shape == (32, 1)
    assert torch.allclose(found.mean(), targets.mean(), rtol=1e-2)
    assert torch.allclose(found.var(), targets.var(), rtol=0.1)


def test_targets_of_their_own_have_no_stand_ins() -> None:
    targets = NUMBERS[:, :1]
    assert recover_targets.stand_ins(*broadcast(targets)) is None
    assert recover_targets.stand_ins(*broadcast(targets, extra=5.0)) is None


def test_constant_targets_have_no_stand_ins() -> None:
    assert recover_targets.stand_ins(*broadcast(torch.ones(32))) is None


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_probabilities_of_any_reduction_come_out_or_are_unknown(reduction: str) -> None:
    wanted = torch.rand(32, 3, generator=torch.Generator().manual_seed(2))
    outputs = torch.full((32, 3), 0.4, requires_grad=True)
    value = f.binary_cross_entropy(outputs, wanted, reduction=reduction)
    value.backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    found = recover_targets.targets("bce", value.detach(), outputs.detach(), outputs.grad)
    if reduction == "sum":
        assert found is None
    else:
        assert found is not None
        assert torch.allclose(found, wanted, atol=1e-3)
