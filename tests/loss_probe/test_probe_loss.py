"""What a few calls tell about a loss, and that they leave no trace."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay.loss_probe import mixes_samples, probe_loss
from sickbay.vitals import Setup

DRAWN = torch.Generator().manual_seed(0)
OUTPUTS = torch.randn(16, 3, generator=DRAWN)
CLASSES = torch.arange(16) % 3
ONE, YES = OUTPUTS[:, :1], (torch.arange(16) % 2).float().unsqueeze(1)
NUMBERS = torch.randn(16, 1, generator=DRAWN) * 3 + 2
IMAGES = torch.randn(6, 3, 4, 4, generator=DRAWN)
PIXELS = torch.arange(6 * 16).reshape(6, 4, 4) % 3


@pytest.mark.parametrize(
    ("loss", "outputs", "targets", "name"),
    [
        pytest.param(F.cross_entropy, OUTPUTS, CLASSES, "cross_entropy", id="cross-entropy"),
        pytest.param(F.cross_entropy, IMAGES, PIXELS, "cross_entropy", id="images"),
        pytest.param(
            lambda o, y: -(F.one_hot(y, 3) * o.log_softmax(1)).sum(),
            OUTPUTS, CLASSES, "cross_entropy", id="by-hand",
        ),
        pytest.param(
            lambda o, y: F.cross_entropy(o.flatten(0, 2), y.flatten()),
            IMAGES.movedim(1, -1), PIXELS, "cross_entropy", id="classes-last",
        ),
        pytest.param(
            F.cross_entropy, OUTPUTS, F.one_hot(CLASSES, 3).float(), "cross_entropy", id="one-hot"
        ),
        pytest.param(F.nll_loss, OUTPUTS, CLASSES, "nll", id="nll"),
        pytest.param(F.binary_cross_entropy, ONE.sigmoid(), YES, "bce", id="bce"),
        pytest.param(
            lambda o, y: (F.softplus(o) - y * o).mean(), ONE, YES, "bce_logits", id="bce-logits"
        ),
        pytest.param(
            lambda o, y: F.softplus(-o * y).mean(), ONE, 2 * YES - 1, "bce_logits", id="signs"
        ),
        pytest.param(lambda o, t: 3 * ((o - t) ** 2).sum() + 7, ONE, NUMBERS, "mse", id="mse"),
        pytest.param(lambda o, t: (o - t).abs().mean(), ONE, NUMBERS, "l1", id="l1"),
        pytest.param(F.smooth_l1_loss, ONE, NUMBERS, "smooth_l1", id="smooth-l1"),
        pytest.param(lambda o, t: ((o - t) ** 4).mean(), ONE, NUMBERS, "", id="another"),
    ],
)  # fmt: skip
def test_a_loss_is_known_by_what_it_does(
    loss: Callable[..., Tensor], outputs: Tensor, targets: Tensor, name: str
) -> None:
    facts = probe_loss(loss, outputs, targets, "")
    assert facts in (Setup(loss=name), Setup(loss=name, unstretched=True))


def test_other_targets_come_in_any_type() -> None:
    for kind in (torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool):
        seen = probe_loss(lambda o, y: (o * y).mean(), ONE.sigmoid(), YES.to(kind), "sigmoid")
        assert seen.wrong_sign, kind


@pytest.mark.parametrize(
    "facts",
    [
        probe_loss(F.mse_loss, (OUTPUTS, OUTPUTS), NUMBERS, "linear"),
        probe_loss(F.mse_loss, CLASSES, NUMBERS, "linear"),
        probe_loss(lambda *_: 1 / 0, OUTPUTS, CLASSES, "linear"),
        probe_loss(lambda o, _: o.mean(), OUTPUTS, CLASSES, "linear"),
        probe_loss(lambda o, t: (o.sort(0)[0] - t.sort(0)[0]).square().mean(), ONE, NUMBERS, ""),
        probe_loss(F.mse_loss, ONE, NUMBERS * torch.nan, "linear"),
        probe_loss(F.mse_loss, ONE[:0], NUMBERS[:0], "linear"),
        probe_loss(F.mse_loss, ONE, torch.zeros(16, 1) + 3, "linear"),
    ],
    ids=[
        "two-outputs", "whole-outputs", "raises", "no-targets", "distributions", "nan", "empty",
        "constant-targets",
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_left_alone(facts: Setup) -> None:
    assert facts == Setup()


def test_one_sample_is_enough_for_a_sign() -> None:
    def wrong(p: Tensor, y: Tensor) -> Tensor:
        return p[torch.arange(len(y)), y].log().mean()

    facts = probe_loss(wrong, OUTPUTS[:1].softmax(1), CLASSES[:1], "softmax")
    assert facts.wrong_sign
    assert not facts.unstretched


def test_distances_may_be_small_where_the_answer_is_yes() -> None:
    def siamese(d: Tensor, same: Tensor) -> Tensor:
        return (same * d**2 + (1 - same) * F.relu(1 - d) ** 2).mean()

    assert not probe_loss(siamese, ONE.abs(), YES, "").wrong_sign
    assert not probe_loss(siamese, ONE, YES, "linear").wrong_sign
    prototypes = probe_loss(lambda d, y: F.cross_entropy(-d, y), OUTPUTS.abs(), CLASSES, "")
    assert not prototypes.wrong_sign


@pytest.mark.parametrize(("scale", "least"), [(1.0, False), (20.0, True)])
def test_a_temperature_opens_what_softmax_has_closed(scale: float, least: bool) -> None:
    shares = OUTPUTS.softmax(1)
    facts = probe_loss(lambda o, y: F.cross_entropy(scale * o, y), shares, CLASSES, "softmax")
    assert (facts.reach > 0.95) is least


class Counted(nn.Module):
    """Counts its calls, and draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.calls += 1
        noise = torch.rand(1) + np.random.rand() + random.random()
        targets.add_(1)  # a slip, but not ours
        return ((outputs - targets + 1) ** 2).mean() * (1 + noise)


def random_states() -> tuple[Any, ...]:
    numpy_state: Any = np.random.get_state()
    return torch.get_rng_state().tolist(), numpy_state[1].tolist(), random.getstate()


def test_calls_leave_no_trace() -> None:
    loss, outputs, targets = Counted(), ONE.clone().requires_grad_(), NUMBERS.clone()
    states = random_states()
    assert probe_loss(loss, outputs, targets, "linear").loss == "mse"
    assert random_states() == states
    assert (loss.calls, outputs.grad) == (0, None)
    assert torch.equal(targets, NUMBERS)


@pytest.mark.parametrize(
    ("outputs", "output", "expected"),
    [
        pytest.param(OUTPUTS.softmax(0), "softmax", True, id="over-samples"),
        pytest.param(OUTPUTS.log_softmax(0), "log_softmax", True, id="log"),
        pytest.param(OUTPUTS.softmax(1), "softmax", False, id="over-classes"),
        pytest.param(IMAGES.softmax(1), "softmax", False, id="over-channels"),
        pytest.param(OUTPUTS[:1].softmax(0), "softmax", False, id="one-sample"),
        pytest.param(OUTPUTS, "linear", False, id="linear"),
        pytest.param((OUTPUTS,), "softmax", False, id="no-tensor"),
    ],
)
def test_softmax_over_the_samples(outputs: Any, output: str, expected: bool) -> None:
    assert mixes_samples(outputs, output) is expected


def test_an_object_keeps_nothing() -> None:
    seen: list[int] = []
    probe_loss(partial(_kept, seen), ONE, NUMBERS)
    assert seen == []


def _kept(seen: list[int], outputs: Tensor, targets: Tensor) -> Tensor:
    seen.append(len(outputs))
    return (outputs - targets).square().mean()
