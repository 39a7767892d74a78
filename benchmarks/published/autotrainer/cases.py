"""The models of the benchmark: sound ones, and ones with a fault that causes a known problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from benchmarks.detection.fault_code import Layer, Scaled, Some, WildFeature, negative
from benchmarks.detection.model_blocks import Net
from benchmarks.detection.run_variants import change_label
from benchmarks.detection.training_loop import Plan
from benchmarks.published.autotrainer.data_sets import DATA_SETS, TEXTS

Changes = dict[str, Any]
KINDS = {"circle": "fc", "blob": "fc", "mnist": "cnn", "cifar10": "cnn"}
# Epochs and batch sizes.
EPOCHS = {"circle": 40, "blob": 40, "mnist": 20, "cifar10": 20, "imdb": 15, "reuters": 15}
BATCH = {"circle": 32, "blob": 32, "mnist": 32, "cifar10": 32, "imdb": 64, "reuters": 64}
FIRST_SEED = 100  # the faults were chosen with smaller seeds
PIXELS = Scaled(75.0, 100.0)  # maps standardised pixels to about 0 to 255
SGD: Changes = {"optimizer": "sgd", "lr": 0.02, "momentum": 0.9}
PLAIN: Changes = {"optimizer": "sgd", "lr": 0.05}
RIGHT: Changes = {"init": "right"}


@dataclass(frozen=True)
class Case:
    """A model to train. `problem` is what its fault causes; empty if it is sound."""

    name: str
    problem: str
    plan: Plan
    epochs: int
    seed: int

    @property
    def data(self) -> str:
        return self.plan.data


def sound(data: str, depth: int, changes: Changes) -> Plan:
    """Return a plan with an initialiser, a loss and an optimizer that fit, then apply changes."""
    kind = KINDS.get(data, "lstm")
    # Networks on Circle and Blob are narrow, as in the paper.
    net = Net(kind=kind, depth=depth, width=10 if kind == "fc" else 24, init="right")
    objective = "bce" if data in ("circle", "imdb") else "ce"
    plan = Plan(data=data, net=net, objective=objective, lr=0.003, size=BATCH[data], module=True)
    return plan.but(**changes)


HEALTHY: Sequence[tuple[int, Changes]] = (
    (6, {"lr": 0.01}),
    (6, {"activation": "tanh", "lr": 0.005}),
    (7, {"activation": "selu"}),
    (6, {"activation": "leaky", **SGD}),
    (8, {"activation": "elu", "optimizer": "rmsprop", "lr": 0.002}),
    (9, {"norm": "batch", "lr": 0.005}),
    (12, {"norm": "batch", "lr": 0.005}),
    (18, {"activation": "elu", "norm": "batch"}),
)
HEALTHY_DEEP: Sequence[tuple[int, Changes]] = (  # for images and texts
    (2, {}),
    (2, {"activation": "tanh"}),
    (3, {"activation": "selu", "lr": 0.002}),
    (3, {"activation": "leaky", "optimizer": "nadam", "lr": 0.002}),
    (3, {"activation": "elu", "optimizer": "rmsprop", "lr": 0.002}),
    (4, {"norm": "batch", "lr": 0.005}),
    (6, {"norm": "batch", "lr": 0.005}),
    (2, {"activation": "tanh", "optimizer": "adamw", "lr": 0.005}),
)
VANISHING: Sequence[tuple[int, Changes]] = (
    (9, {"activation": "sigmoid", "lr": 0.001}),
    (9, {"activation": "sigmoid", "init": "torch", **SGD}),
    (16, {"activation": "sigmoid", "init": "torch"}),
    (12, {"activation": "tanh", "gain": 0.2, **SGD}),
)
EXPLODING: Sequence[tuple[int, Changes]] = (
    (7, {"gain": 5.0, **SGD}),
    (15, {"activation": "tanh", "gain": 3.0, **SGD}),
    (10, {"init": "normal", **PLAIN}),
    (12, {"activation": "leaky", "gain": 4.0, **PLAIN}),
)
DYING: Sequence[tuple[int, Changes]] = (
    (6, {"bias": -10.0}),
    (8, {"surgery": Layer("hidden", negative)}),
    (6, {"lr": 1.0}),
)
# Few batches an epoch, so that its mean accuracy does not hide the swings.
FEW: Changes = {"part": 160, "epochs": 40}
OSCILLATING: Sequence[tuple[int, Changes]] = (
    (6, {"activation": "tanh", "lr": 0.2, **FEW}),
    (6, {"activation": "tanh", **SGD, "lr": 0.5, **FEW}),
    (4, {"activation": "tanh", **SGD, "lr": 1.0, **FEW}),
)
OSCILLATING_DEEP: Sequence[tuple[int, Changes]] = (
    (2, {"activation": "tanh", "lr": 0.1, **FEW}),
    (2, {"activation": "elu", "optimizer": "rmsprop", "lr": 0.05, **FEW}),
    (3, {"activation": "tanh", **SGD, "lr": 0.5, **FEW}),
)
SLOW: Sequence[tuple[int, Changes]] = (
    (6, {"lr": 1e-6}),
    (6, {"activation": "tanh", **PLAIN, "lr": 1e-5}),
    (7, {"activation": "selu", "optimizer": "rmsprop", "lr": 1e-6}),
    (6, {"activation": "leaky", "optimizer": "nadam", "lr": 1e-6}),
)
OUTPUT_OF_TWO: Sequence[tuple[int, Changes]] = (
    (6, {"output": "relu"}),
    (6, {"output": "softmax"}),
    (6, {"activation": "tanh", "output": "sigmoid"}),
)
OUTPUT_OF_MANY: Sequence[tuple[int, Changes]] = (
    (6, {"output": "relu", **PLAIN, "lr": 0.001}),
    (6, {"output": "softmax", **PLAIN, "lr": 0.002}),
    (6, {"activation": "tanh", "output": "sigmoid", **PLAIN, "lr": 0.002}),
)
LOSS_OF_TWO: Sequence[tuple[int, Changes]] = (
    (6, {"objective": "ce_single"}),
    (6, {"objective": "hinge_index"}),
    (6, {"activation": "tanh", "objective": "poisson_index"}),
)
LOSS_OF_MANY: Sequence[tuple[int, Changes]] = (
    (6, {"objective": "divergence"}),
    (6, {"activation": "tanh", "objective": "hinge_onehot"}),
    (6, {"objective": "mse_index"}),
)
LOSS_OF_THREE: Sequence[tuple[int, Changes]] = (
    (6, {"objective": "divergence"}),
    (6, {"activation": "tanh", "objective": "divergence", **SGD}),
    (6, {"objective": "poisson_index"}),
)
ABNORMAL: Sequence[tuple[int, Changes]] = (
    (6, {"inputs": Scaled(1e3), **PLAIN}),
    (6, {"samples": Some(0.01, nan)}),
    (6, {"inputs": WildFeature(1e4), **SGD}),
)
ABNORMAL_IMAGES: Sequence[tuple[int, Changes]] = (
    (3, {"inputs": PIXELS, **PLAIN}),
    (3, {"samples": Some(0.01, nan)}),
    (3, {"inputs": Scaled(1e3), **SGD}),
)


def faults(data: str) -> dict[str, Sequence[tuple[int, Changes]]]:
    """Return the faulty models of a data set by problem.

    As in the paper, texts have neither dying ReLUs nor abnormal data.
    """
    two, narrow = data in ("circle", "imdb"), KINDS.get(data) == "fc"
    many = LOSS_OF_THREE if data == "blob" else LOSS_OF_MANY
    found = {
        "vanishing_gradient": VANISHING,
        "exploding_gradient": EXPLODING,
        "dying_relu": DYING,
        "slow_convergence": SLOW,
        "oscillating_accuracy": OSCILLATING if narrow else OSCILLATING_DEEP,
        "improper_output": OUTPUT_OF_TWO if two else OUTPUT_OF_MANY,
        "improper_loss": LOSS_OF_TWO if two else many,
        "abnormal_data": ABNORMAL if narrow else ABNORMAL_IMAGES,
    }
    if data in TEXTS:
        del found["dying_relu"], found["abnormal_data"]
    return found


def all_cases() -> list[Case]:
    """Return every model of the benchmark."""
    made: list[Case] = []
    for data in DATA_SETS:
        deep = HEALTHY if KINDS.get(data) == "fc" else HEALTHY_DEEP
        for problem, variants in {"": deep, **faults(data)}.items():
            made += cases_of(data, problem, variants)
    return made


def cases_of(data: str, problem: str, variants: Sequence[tuple[int, Changes]]) -> Iterator[Case]:
    for place, (depth, changes) in enumerate(variants):
        settings = {name: value for name, value in changes.items() if name not in FEW}
        label = "-".join(change_label(name, value) for name, value in settings.items()) or "sound"
        name = f"{data}/{problem or 'healthy'}/{place}-{depth}-{label}"
        epochs = changes.get("epochs", EPOCHS[data])
        settings = {name: value for name, value in changes.items() if name != "epochs"}
        yield Case(name, problem, sound(data, depth, settings), epochs, FIRST_SEED + place)


def quick_cases() -> list[Case]:
    """Return one faulty model for each problem, and a sound one, on the two made-up data sets."""
    chosen: dict[str, Case] = {}
    for case in all_cases():
        if case.data in ("circle", "blob"):
            chosen.setdefault(case.problem, case)
    return list(chosen.values())
