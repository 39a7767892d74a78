"""The weights of classes, worked out from the gradient."""

from math import isnan

import pytest
import torch
from torch import Tensor
from torch.nn import functional as f

from sickbay.probe.class_weights import of_classes, slope


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
