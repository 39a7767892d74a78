"""Targets worked out from what was seen of a batch."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as f

from sickbay.probe.locate_nan import LARGE, excerpt
from sickbay.probe.loss_graph import Origin
from sickbay.probe.seen_batch import Seen, recovered


def seen(logits: Tensor, labels: Tensor, **changed: Any) -> Seen:
    """Return what is seen of a cross-entropy: large outputs only in part."""
    out = logits.requires_grad_()
    width = logits.shape[-1]
    loss = f.cross_entropy(out.reshape(-1, width), labels.reshape(-1))
    loss.backward()  # type: ignore[no-untyped-call]
    assert out.grad is not None
    facts: dict[str, Any] = {
        "inputs": None, "tokens": None, "output": excerpt(out), "shape": tuple(out.shape),
        "activation": "linear", "gradient": excerpt(out.grad), "pairs": [], "loss": loss.detach(),
        "traced": Origin("cross_entropy", "linear"), "direct": True, "strays": 0, **changed,
    }  # fmt: skip
    return Seen(**facts)


def labels_of(*shape: int, classes: int) -> Tensor:
    return torch.randint(classes, shape, generator=torch.Generator().manual_seed(0))


def logits_of(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param((6, 3), id="rows"),
        pytest.param((4, 5, 3), id="sequences"),
        pytest.param((2, 4, 5, 3), id="four-dimensions"),
    ],
)
def test_classes_in_the_last_dimension(shape: tuple[int, ...]) -> None:
    labels = labels_of(*shape[:-1], classes=3)
    (pair,) = recovered(seen(logits_of(*shape), labels))
    assert pair.targets.tolist() == labels.reshape(-1).tolist()
    assert pair.outputs.shape == (labels.numel(), 3)
    assert pair.shapes == ((labels.numel(), 3), (labels.numel(),))
    assert (pair.loss, pair.output) == ("cross_entropy", "linear")


@pytest.mark.parametrize(
    "shape", [pytest.param((64, 2048), id="rows"), pytest.param((16, 32, 500), id="sequences")]
)
def test_the_first_samples_of_a_large_output(shape: tuple[int, ...]) -> None:
    labels = labels_of(*shape[:-1], classes=shape[-1])
    (pair,) = recovered(seen(logits_of(*shape), labels))
    count = len(pair.targets)
    assert 4 < count < labels.numel()
    assert pair.outputs.numel() <= LARGE
    assert pair.targets.tolist() == labels.reshape(-1)[:count].tolist()
    assert pair.shapes == ((labels.numel(), shape[-1]), (labels.numel(),))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"output": None}, id="no-output"),
        pytest.param({"gradient": None}, id="no-gradient"),
        pytest.param({"gradient": torch.ones(2, 5, 3)}, id="gradient-of-another-shape"),
        pytest.param({"gradient": torch.ones(4, 5, 3)}, id="gradient-of-another-loss"),
        pytest.param({"gradient": torch.full((4, 5, 3), torch.nan)}, id="nan"),
        pytest.param({"traced": Origin("mse", "linear", stretched=True)}, id="stretched"),
        pytest.param({"traced": Origin()}, id="loss-not-known"),
    ],
)
def test_nothing_is_made_up(changed: dict[str, Any]) -> None:
    labels = labels_of(4, 5, classes=3)
    assert recovered(seen(logits_of(4, 5, 3), labels, **changed)) == []


def test_classes_in_another_dimension_are_not_mistaken() -> None:
    out = logits_of(4, 3, 5).requires_grad_()
    loss = f.cross_entropy(out, labels_of(4, 5, classes=3))
    loss.backward()  # type: ignore[no-untyped-call]
    given = seen(logits_of(4, 3, 5), labels_of(4, 3, classes=5), gradient=out.grad)
    assert recovered(given) == []


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        pytest.param(Origin("mse", "linear", bare=True), True, id="written-out"),
        pytest.param(Origin("mse", "linear", bare=True, stretched=True), True, id="torchs-own"),
        pytest.param(Origin("mse", "linear"), False, id="with-other-terms"),
        pytest.param(Origin("l1", "linear", bare=True), False, id="another-distance"),
    ],
)
def test_targets_that_were_broadcast(origin: Origin, expected: bool) -> None:
    outputs = logits_of(32, 1).requires_grad_()
    loss = ((outputs - 300 - 100 * logits_of(32)) ** 2).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    found = recovered(
        seen(
            logits_of(32, 1),
            labels_of(32, classes=1),
            output=outputs.detach(),
            loss=loss.detach(),
            gradient=outputs.grad,
            traced=origin,
        )
    )
    assert bool(found) is expected
    if found:
        assert found[0].loss == "mse"
        assert abs(float(found[0].targets.mean()) - 300) < 50
