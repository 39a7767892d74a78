"""What a quick reference shows about labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset

from sickbay.problems.shared.yardsticks import Yardstick
from sickbay.repairs.yardsticks.references import Reference, is_alike, wrong_labels
from tests.repairs.yardsticks.test_measure import CE, drawn, measured

HELD = Yardstick(constant=0.1, reference=0.85, metric="val_accuracy", samples=500)


@pytest.mark.parametrize(
    ("judged", "quality", "constant", "expected"),
    [
        pytest.param(400, 0.6, 0.1, 0.6, id="worse"),
        pytest.param(400, 0.77, 0.1, None, id="hardly-worse"),
        pytest.param(4000, 0.77, 0.3, None, id="surely-but-hardly-worse"),
        pytest.param(20, 0.6, 0.1, None, id="by-chance"),
        pytest.param(400, 0.9, 0.1, None, id="better"),
    ],
)
def test_labels(judged: int, quality: float, constant: float, expected: float | None) -> None:
    assert wrong_labels(HELD, Reference(torch.abs, judged, quality, constant)) == expected


def test_classes_of_other_frequencies_are_no_wrong_labels() -> None:
    held = replace(HELD, constant=0.95, reference=0.97)
    assert wrong_labels(held, Reference(torch.abs, 400, 0.8, 0.5)) is None


def test_only_accuracies_are_compared() -> None:
    found = Reference(torch.abs, 400, 0.6, 0.1)
    assert wrong_labels(replace(HELD, metric="val_metric"), found) is None
    assert wrong_labels(HELD, replace(found, quality=None)) is None


def test_spoilt_training_labels_are_told_and_sound_ones_are_not() -> None:
    x = drawn(1500, 4)
    y = x.argmax(1)
    wrong = torch.rand(1500, generator=torch.Generator().manual_seed(1)) < 0.4
    spoilt = y.where(~wrong, (y + 1) % 4)
    parts = [(x[:1000], y[:1000]), (x[:1000], spoilt[:1000]), (x[1000:], y[1000:])]
    told = [_measured(each, parts[2]).trained for each in parts[:2]]
    assert told[0] is None
    assert told[1] is not None
    assert 0.4 < told[1] < 0.7


def _measured(data: object, validation: object) -> Yardstick:
    return measured(nn.Linear(4, 4), data, CE, validation=validation)


def test_they_forbid_success_and_are_told() -> None:
    assert HELD.is_surely_met(0.9)
    told = replace(HELD, trained=0.6)
    assert not told.is_surely_met(0.9)
    assert told.told().endswith("0.85, but 0.6 on training data, as if labels were wrong")


def test_labels_that_come_sorted_are_no_wrong_labels() -> None:
    x = drawn(1500, 5)
    y = x.argmax(1)
    order = y[:1000].argsort()
    own = BatchSampler(order.tolist(), 50, drop_last=False)
    loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_sampler=own)
    others = DataLoader(TensorDataset(x[1000:], y[1000:]), 50)
    held = measured(nn.Linear(5, 5), loader, CE, validation=others)
    assert held.trained is None
    assert held.reference is not None
    assert held.reference > 0.9


def test_targets_in_another_shape_are_still_the_inputs() -> None:
    images = torch.rand(40, 1, 6, 6)
    for targets, expected in ((images.flatten(1), True), (torch.rand(40, 36), False)):
        assert is_alike(images, targets) is expected
