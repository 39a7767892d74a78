"""Losses that are lower the less the outputs are like a constant."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as f

import sickbay
from sickbay.probe.similarity import punishes_likeness

WANTED = torch.linspace(-1, 1, 24).reshape(6, 4)
MASK = (WANTED > 0).float()
Loss = Callable[[Tensor], Tensor]


def cosine(out: Tensor) -> Tensor:
    return f.cosine_similarity(out, WANTED, dim=1).mean()


def dice(out: Tensor) -> Tensor:
    p = out.sigmoid()
    return ((2 * (p * MASK).sum(1) + 1) / (p.sum(1) + MASK.sum(1) + 1)).mean()


def overlap(out: Tensor) -> Tensor:
    shared = (out.sigmoid() * MASK).sum()
    return shared / (out.sigmoid().sum() + MASK.sum() - shared)


def by_hand(out: Tensor) -> Tensor:
    sizes: Tensor = out.norm(dim=1) * WANTED.norm(dim=1)
    return ((out * WANTED).sum(1) / sizes).mean()


def of_squares(out: Tensor) -> Tensor:
    p = out.sigmoid()
    size = (p * p).sum() + MASK.sum()
    return 2 * (p * MASK).sum() / size


def of_unit_vectors(out: Tensor) -> Tensor:
    return (f.normalize(out) * f.normalize(WANTED)).sum(1).mean()


LIKENESSES = [cosine, dice, overlap, by_hand, of_squares, of_unit_vectors]


def punished(loss: Loss) -> bool:
    outputs = nn.Linear(3, 4)(torch.randn(6, 3))
    return punishes_likeness(loss(outputs).grad_fn, outputs.grad_fn)


@pytest.mark.parametrize("likeness", LIKENESSES, ids=lambda each: each.__name__)
def test_the_sign_matters(likeness: Loss) -> None:
    assert punished(likeness)
    assert punished(lambda out: 0.5 * likeness(out) + 1)
    assert punished(lambda out: -(1 - likeness(out)))
    assert not punished(lambda out: 1 - likeness(out))
    assert not punished(lambda out: -likeness(out))
    assert not punished(lambda out: -2 * likeness(out))
    assert not punished(lambda out: -likeness(out).log())


OTHERS: dict[str, Loss] = {
    "another-term": lambda out: dice(out) + out.square().mean(),
    "both-signs": lambda out: cosine(out) - cosine(out + 1),
    "a-power": lambda out: (1 - dice(out)) ** 2,
    "two-outputs": lambda out: f.cosine_similarity(out[:3], out[3:], dim=1).mean(),
    "no-size": lambda out: (out * WANTED).sum(1).mean(),
    "a-weighted-mean": lambda out: (out.square() * MASK).sum() / MASK.sum(),
    "cross-entropy": lambda out: f.cross_entropy(out, MASK),
    "squares": lambda out: f.mse_loss(out, WANTED),
    "relative-squares": lambda out: (out - WANTED).square().sum() / out.square().sum(),
    "negative-pairs": lambda out: nn.CosineEmbeddingLoss()(out, WANTED, torch.ones(6)),
}


@pytest.mark.parametrize("loss", OTHERS.values(), ids=OTHERS)
def test_other_losses(loss: Loss) -> None:
    assert not punished(loss)


@pytest.mark.parametrize(("loss", "expected"), [(dice, True), (lambda out: 1 - dice(out), False)])
def test_in_a_loop(loss: Loss, expected: bool) -> None:
    model = nn.Linear(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding="silent")
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(model(torch.randn(6, 3)))
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(value)
    doctor.close()
    assert doctor.history.setup.wrong_sign is expected
    assert ("improper_loss" in [each.problem for each in doctor.findings]) is expected


def test_a_penalty_beside_another_loss_is_none() -> None:
    model = nn.Linear(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    doctor = sickbay.watch(model, optimizer, on_finding="silent")
    for _ in range(3):
        optimizer.zero_grad()
        outputs = model(torch.randn(6, 3))
        cosine(outputs).backward(retain_graph=True)  # type: ignore[no-untyped-call]
        value = f.mse_loss(outputs, WANTED)
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        doctor.step(value)
    doctor.close()
    assert not doctor.history.setup.wrong_sign
