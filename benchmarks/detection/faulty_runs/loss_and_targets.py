"""Losses and targets that do not match, and shapes that broadcast."""

from math import nan

from torch import Tensor

from benchmarks.detection.fault_code import Labels
from benchmarks.detection.run_variants import SGD, Settings, Variant, faulty, plan

LOGIT: Settings = {"objective": "bce"}

IMPROPER = [
    faulty(plan("digits", depth=2, activation="gelu"), objective="l1_index"),
    faulty(plan("digits", depth=2, **SGD), objective="mse_index"),
    faulty(plan("digits", depth=3), objective="mse_index"),
    faulty(plan("digits", depth=3), objective="l1_onehot"),
    faulty(plan("digits", "cnn", 3, 8), objective="l1_index"),
    faulty(plan("digits", depth=2, activation="tanh"), objective="hinge_onehot"),
    faulty(plan("digits", depth=3, **SGD), objective="nll"),
    faulty(plan("digits", depth=3, output="log_softmax", objective="nll", **SGD), output="softmax"),
    faulty(plan("blobs", depth=3), objective="poisson_index"),
    faulty(plan("digits", depth=3), objective="divergence"),
    faulty(plan("circles", depth=3, **LOGIT), objective="ce_single"),
    faulty(plan("circles", depth=3, **LOGIT), objective="hinge_index"),
    faulty(plan("circles", depth=3, activation="gelu", **LOGIT), objective="poisson_index"),
    faulty(plan("friedman", depth=3), objective="ce_values"),
    faulty(plan("friedman", depth=3), objective="bce_values"),
    faulty(plan("sine", depth=3), objective="poisson_values"),
    faulty(plan("sine", depth=3, activation="tanh"), objective="hinge_values"),
    faulty(plan("friedman", depth=2, **SGD), objective="nll_values"),
    faulty(plan("digits", "gru", 1, 24), objective="l1_index"),
    faulty(
        plan("digits", "auto", 2, 48, reconstruct=True, objective="mse"), objective="bce_values"
    ),
    faulty(plan("mnist", depth=3), objective="mse_index"),
    faulty(plan("mnist", "cnn", 3, 8), objective="l1_onehot"),
    faulty(plan("cifar10", "cnn", 3, 8), objective="l1_index"),
    faulty(plan("reuters_bag", depth=1), objective="mse_index"),
    faulty(plan("reuters", "bag", 1, lr=0.01), objective="l1_onehot"),
    faulty(plan("imdb", "bag", 1, lr=0.01, **LOGIT), objective="ce_single"),
    faulty(plan("exchange", "gru", 1, 24, lr=0.01), objective="bce_values"),
]
SPREAD = [
    faulty(plan(data, depth=depth, objective=right, **more), objective=f"{right}_spread")
    for data, depth, right, more in (
        ("friedman", 3, "mse", {}),
        ("friedman", 2, "l1", {"activation": "tanh"}),
        ("friedman", 3, "smooth_l1", SGD),
        ("sine", 3, "mse", {"activation": "silu"}),
        ("sine", 4, "l1", {}),
        ("plane", 2, "mse", {"lr": 0.01}),
        ("plane", 1, "smooth_l1", {"lr": 0.01}),
    )
]
CONSTANT = Labels(0.0)


def broken(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Replace some labels by NaN, as a bad join of two tables does."""
    y[::50] = nan
    return x, y


BAD = [
    faulty(plan("digits", depth=3), "constant", samples=CONSTANT),
    faulty(plan("circles", depth=3, **LOGIT), "constant", samples=CONSTANT),
    faulty(plan("friedman", depth=3), "constant", samples=CONSTANT),
    faulty(plan("circles", depth=3, **LOGIT), "labels-0-255", samples=Labels(255.0)),
    faulty(
        plan("circles", depth=3, activation="tanh", **LOGIT), "labels-1-2", samples=Labels(1.0, 1.0)
    ),
    faulty(plan("labels", depth=2), "labels-0-255", samples=Labels(255.0)),
    faulty(plan("friedman", depth=3, **SGD), "nan", samples=broken),
    faulty(plan("mnist", depth=3), "constant", samples=CONSTANT),
    faulty(plan("imdb", "bag", 1, lr=0.01, **LOGIT), "labels-1-2", samples=Labels(1.0, 1.0)),
]
LOSS: dict[str, list[Variant]] = {
    "improper_loss": IMPROPER,
    "shape_broadcast": SPREAD,
    "bad_targets": BAD,
}
