"""Targets found in the graph of a loss, right before backward."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.doctor import Doctor
from sickbay.probe.saved_targets import compared, settled

CLASSES = torch.tensor([0, 1, 2, 1, 0, 2])
NUMBERS = torch.linspace(-2, 2, 18).reshape(6, 3)
TAGS = (NUMBERS > 0).float()
WEIGHTS = torch.linspace(0.1, 2, 6)
Loss = Callable[[Tensor], Tensor]


def plus(loss: Loss) -> Loss:
    return lambda out: 0.01 * loss(out) + out.abs().mean()


def weighted(outputs: Tensor, weights: Tensor) -> Tensor:
    each = f.binary_cross_entropy_with_logits(outputs, TAGS, reduction="none")
    return (each * weights).mean()


FOUND: dict[str, tuple[str, Tensor, Loss]] = {
    "classes": ("cross_entropy", CLASSES, lambda out: f.cross_entropy(out, CLASSES)),
    "weights": (
        "cross_entropy", CLASSES,
        lambda out: f.cross_entropy(out, CLASSES, torch.tensor([1.0, 2, 3]), label_smoothing=0.1),
    ),
    "nll": ("cross_entropy", CLASSES, lambda out: f.nll_loss(out.log_softmax(1), CLASSES)),
    "sum": ("mse", NUMBERS, lambda out: f.mse_loss(out, NUMBERS, reduction="sum")),
    "by-sample": (
        "mse", NUMBERS, lambda out: f.mse_loss(out, NUMBERS, reduction="none").sum(1).mean()
    ),
    "tags": ("bce_logits", TAGS, lambda out: f.binary_cross_entropy_with_logits(out, TAGS)),
    "huber": ("huber", NUMBERS, lambda out: f.huber_loss(out, NUMBERS)),
    "yes-and-no-weighted": (
        "bce_logits", TAGS,
        lambda out: weighted(out, torch.where(TAGS > 0, 3.0, 0.5)),
    ),
    "shares": ("bce", TAGS, lambda out: f.binary_cross_entropy(out.sigmoid(), TAGS)),
    "by-hand": ("mse", NUMBERS, lambda out: ((out - NUMBERS) ** 2).sum(1).mean()),
    "turned-round": ("mse", NUMBERS, lambda out: 0.5 * ((NUMBERS - out) ** 2).mean()),
    "half-of-each": ("mse", NUMBERS, lambda out: (0.5 * (out - NUMBERS) ** 2).mean()),
    "distance": ("l1", NUMBERS, lambda out: (out - NUMBERS).abs().mean()),
    "flat": (
        "mse", NUMBERS.flatten(), lambda out: (out.flatten() - NUMBERS.flatten()).square().mean()
    ),
}  # fmt: skip


@pytest.mark.parametrize("around", [lambda loss: loss, plus], ids=["alone", "with-a-term"])
@pytest.mark.parametrize(("name", "targets", "loss"), FOUND.values(), ids=FOUND)
def test_what_is_found(
    name: str, targets: Tensor, loss: Loss, around: Callable[[Loss], Loss]
) -> None:
    outputs = nn.Linear(4, 3)(torch.randn(6, 4))
    [pair] = settled(compared(around(loss)(outputs).grad_fn, outputs.grad_fn, outputs))
    assert pair.loss == name
    assert pair.targets.shape == targets.shape
    assert torch.allclose(pair.targets.double(), targets.double(), atol=1e-4)
    assert pair.outputs.numel() == outputs.numel()


def test_logits_are_the_outputs() -> None:
    outputs = nn.Linear(4, 3)(torch.randn(2, 3, 4))
    loss = f.cross_entropy(outputs.view(-1, 3), CLASSES)
    [pair] = compared(loss.grad_fn, outputs.grad_fn, outputs)
    assert pair.outputs.equal(outputs.detach().view(-1, 3))
    assert pair.shapes == ((6, 3), (6,))
    loss = f.cross_entropy(outputs.transpose(1, 2), CLASSES.view(2, 3))
    [pair] = compared(loss.grad_fn, outputs.grad_fn, outputs)
    assert pair.shapes == ((2, 3, 3), (2, 3))
    assert torch.allclose(pair.outputs.softmax(1), outputs.detach().softmax(2).mT)


ELSEWHERE: dict[str, Loss] = {
    "a-policy": lambda out: (f.cross_entropy(out, CLASSES, reduction="none") * WEIGHTS).mean(),
    "an-answer-of-its-own-weight": lambda out: weighted(out, NUMBERS.abs() + 1),
    "all-of-one-weight": lambda out: weighted(out, torch.full((6, 3), 2.0)),
    "a-weight-below-0": lambda out: weighted(out, torch.where(TAGS > 0, -1.0, 1.0)),
    "values-of-actions": lambda out: f.mse_loss(out[range(6), CLASSES], WEIGHTS),
    "by-hand": lambda out: (out[range(6), CLASSES] - WEIGHTS).square().mean(),
    "weighted-squares": lambda out: ((out - NUMBERS) ** 2 * WEIGHTS[:, None]).mean(),
    "smoothness": lambda out: (out[1:] - out[:-1]).abs().mean(),
    "size": lambda out: out.square().mean(),
    "a-number": lambda out: (out - 1).square().mean(),
    "fourth-power": lambda out: ((out - NUMBERS) ** 4).mean(),
    "broadcast": lambda out: (out[:, None] - NUMBERS).square().mean(),
    "of-another-layer": lambda out: f.mse_loss(out.exp().cumsum(1), NUMBERS),
}


@pytest.mark.parametrize("loss", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_no_target(loss: Loss) -> None:
    outputs = nn.Linear(4, 3)(torch.randn(6, 4))
    assert settled(compared(loss(outputs).grad_fn, outputs.grad_fn, outputs)) == []


def test_targets_do_not_follow_from_outputs_that_are_no_numbers() -> None:
    outputs = nn.Linear(4, 3)(torch.full((6, 4), torch.nan))
    for loss, count in ((f.mse_loss(outputs, NUMBERS), 1), ((outputs - NUMBERS).abs().mean(), 0)):
        assert len(settled(compared(loss.grad_fn, outputs.grad_fn, outputs))) == count


def fails(_kept: Tensor) -> Tensor:
    raise AssertionError


def test_saved_tensors_that_run_code_are_left_alone() -> None:
    outputs = nn.Linear(4, 3)(torch.randn(6, 4))
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept, fails):
        losses = f.mse_loss(outputs, NUMBERS), (0.5 * (outputs - NUMBERS) ** 2).mean()
    for loss in losses:
        assert compared(loss.grad_fn, outputs.grad_fn, outputs) == []


def run(watched: bool) -> tuple[list[float], Doctor | None]:
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, every=2, on_finding="silent") if watched else None
    losses = []
    for _ in range(5):
        loss = 0.1 * f.mse_loss(model(torch.randn(6, 4)), NUMBERS) + model.weight.abs().sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if doctor is not None:
            doctor.step(loss)
        losses.append(loss.item())
    return losses, doctor


def test_in_a_loop() -> None:
    plain = vars(Tensor)["backward"]
    losses, doctor = run(watched=True)
    assert doctor is not None
    assert doctor.history.setup.task == "regression"
    assert not [event for event in doctor.events if event.kind == "trouble"]
    assert losses == run(watched=False)[0]
    doctor.close()
    assert vars(Tensor)["backward"] is plain


def test_backward_is_wrapped_only_where_the_batch_is_read() -> None:
    plain = vars(Tensor)["backward"]
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, every=2, on_finding="silent")
    wrapped = []
    for _ in range(4):
        wrapped.append(vars(Tensor)["backward"] is not plain)
        loss = f.mse_loss(model(torch.randn(6, 4)), NUMBERS)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(loss)
    doctor.close()
    assert wrapped == [True, False, True, False]


def test_places_and_samples_in_one() -> None:
    outputs = nn.Linear(4, 3)(torch.randn(2, 3, 4))
    loss = f.nll_loss(outputs.log_softmax(2).flatten(0, 1), CLASSES)
    [pair] = compared(loss.grad_fn, outputs.grad_fn, outputs)
    assert pair.outputs.shape == (6, 3)
    assert pair.targets.equal(CLASSES)


def test_classes_that_are_ignored_are_none() -> None:
    outputs = nn.Linear(4, 3)(torch.randn(6, 4))
    loss = f.cross_entropy(outputs, CLASSES, ignore_index=0)
    [pair] = compared(loss.grad_fn, outputs.grad_fn, outputs)
    assert pair.targets.tolist() == [-100, 1, 2, 1, -100, 2]
