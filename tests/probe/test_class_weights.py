"""The weights of classes, worked out from the gradient."""

from math import isnan

import pytest
import torch
from torch import Tensor
from torch.nn import functional as f

from sickbay.probe.class_weights import of_classes, of_tags, slope, slope_of_tags
from sickbay.probe.constant_answer import ColumnMeans


def found(loss: object, width: int = 3) -> dict[int, float]:
    """Return the weights that the gradient of a loss shows."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(60, width, generator=generator).requires_grad_()
    classes = torch.arange(60) % max(2, width)
    loss(logits, classes).backward()  # type: ignore[operator]
    assert logits.grad is not None
    one_hot = f.one_hot(classes) if width > 1 else classes[:, None]
    return of_classes(logits.detach().double(), logits.grad.double(), one_hot.double())


def test_weights_of_several_classes() -> None:
    weight = torch.tensor([1.0, 2.0, 8.0])
    seen = found(lambda logits, classes: f.cross_entropy(logits, classes, weight))
    assert [seen[each] / seen[0] for each in range(3)] == pytest.approx([1, 2, 8], rel=0.01)


def test_the_weight_of_yes() -> None:
    def loss(logits: Tensor, yes: Tensor) -> Tensor:
        weight = torch.tensor(5.0)
        return f.binary_cross_entropy_with_logits(logits[:, 0], yes.float(), pos_weight=weight)

    seen = found(loss, width=1)
    assert seen[1] / seen[0] == pytest.approx(5, rel=0.01)


def test_other_losses_show_none() -> None:
    assert not found(lambda logits, classes: f.cross_entropy(logits, classes, label_smoothing=0.1))
    assert not found(lambda logits, classes: f.mse_loss(logits, f.one_hot(classes).float()))
    assert not found(lambda logits, classes: f.multi_margin_loss(logits, classes))


@pytest.mark.parametrize(
    ("weights", "counts", "expected"),
    [
        pytest.param((0.9, 0.1), (900, 100), 1.0, id="upside-down"),
        pytest.param((0.1, 0.9), (900, 100), -1.0, id="made-up-for"),
        pytest.param((1.0, 1.0), (900, 100), 0.0, id="no-weights"),
        pytest.param((2.1, 1.0), (63, 30), 1.0, id="at-the-limits"),
        pytest.param((2.0, 1.0), (63, 29), None, id="too-few"),
        pytest.param((2.0, 1.0), (59, 30), None, id="about-as-frequent"),
        pytest.param((1.0, 9.0, 1.0), (100, 200, 400), None, id="weights-of-their-own"),
        pytest.param((1.0,), (100,), None, id="one-class"),
    ],
)
def test_slope(weights: tuple[float, ...], counts: tuple[int, ...], expected: float | None) -> None:
    seen = slope(dict(enumerate(weights)), dict(enumerate(counts)))
    assert isnan(seen) if expected is None else seen == pytest.approx(expected)


TAGS = (torch.arange(120).view(40, 3) % 7 < torch.tensor([1, 2, 5])).double()


def slope_of(loss: object, tags: Tensor = TAGS) -> float:
    """Return the slope that the gradient of a loss of tags shows."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(tags.shape, generator=generator).requires_grad_()
    loss(logits, tags.float()).backward()  # type: ignore[operator]
    assert logits.grad is not None
    seen = ColumnMeans()
    for _ in range(10):
        seen.add(tags)
    return slope_of_tags(of_tags(logits.detach(), logits.grad, tags), seen)


def weighted(weight: Tensor | float, logits: Tensor, tags: Tensor) -> Tensor:
    weight = torch.as_tensor(weight, dtype=torch.float32)
    return f.binary_cross_entropy_with_logits(logits, tags, pos_weight=weight)


@pytest.mark.parametrize(
    ("power", "expected"),
    [(1.0, 1.0), (-1.0, -1.0), (0.5, 0.5), (0.0, 0.0)],
)
def test_weights_of_tags(power: float, expected: float) -> None:
    odds = TAGS.mean(0) / (1 - TAGS.mean(0))
    found = slope_of(lambda logits, tags: weighted(odds**power, logits, tags))
    assert found == pytest.approx(expected, abs=1e-3)


def test_other_weights_of_tags_show_none() -> None:
    generator = torch.Generator().manual_seed(1)
    by_sample = torch.rand(40, 1, generator=generator)
    f_bce = f.binary_cross_entropy_with_logits
    for loss in (
        lambda logits, tags: f_bce(logits, tags, by_sample),
        lambda logits, tags: weighted(torch.tensor([1.0, 9.0, 9.0]), logits, tags),
        lambda logits, tags: (logits - tags).square().mean(),
    ):
        assert isnan(slope_of(loss))
    rare = torch.zeros(40, 3).double()
    rare[0] = 1
    assert isnan(slope_of(lambda logits, tags: weighted(1.0, logits, tags), rare[:20]))
