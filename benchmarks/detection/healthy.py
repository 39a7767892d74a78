"""The healthy runs, many of them of a kind that frightens."""

from __future__ import annotations

from benchmarks.detection.fault_code import Scaled, Unit, WildFeature
from benchmarks.detection.variant import PLAIN, SGD, Settings, Variant, plan, well

EVERY = (
    *("relu", "leaky", "elu", "selu", "gelu", "silu"),
    *("tanh", "sigmoid", "softplus", "prelu", "hardswish", "mish"),
)
RIGHT: Settings = {"init": "right"}
BINARY: Settings = {"objective": "bce"}
RATES = {  # optimizers with a learning rate that suits them
    "sgd": 0.1,
    "adam": 0.003,
    "adamw": 0.003,
    "rmsprop": 0.002,
    "adagrad": 0.03,
    "nadam": 0.003,
    "adamax": 0.006,
    "radam": 0.006,
}
SCHEDULES = ("step", "cosine", "one_cycle", "warm_up", "warm_up_cosine", "exponential")

ACTIVATIONS = [
    *(well(plan("digits", activation=each, lr=0.005)) for each in EVERY),
    *(well(plan("circles", depth=2, activation=each, lr=0.01)) for each in EVERY[:6]),
    *(well(plan("friedman", depth=2, activation=each, lr=0.01)) for each in EVERY[6:]),
]
OPTIMIZERS = [
    *(well(plan("digits", optimizer=each, lr=lr), "optimizer") for each, lr in RATES.items()),
    *(
        well(plan("blobs", depth=2, activation="tanh", optimizer=each, lr=lr))
        for each, lr in RATES.items()
    ),
    *(
        well(plan("sine", depth=2, optimizer=each, lr=lr * 2, steps=300))
        for each, lr in RATES.items()
        if each != "sgd"
    ),
    *(well(plan(data, **SGD), "momentum") for data in ("digits", "circles", "friedman")),
    *(well(plan(data, **SGD, nesterov=True), "nesterov") for data in ("digits", "blobs")),
    *(
        well(plan("digits", weight_decay=decay, optimizer="adamw"), f"decay{decay:g}")
        for decay in (0.01, 0.1)
    ),
    *(well(plan("digits", weight_decay=decay, **SGD), f"decay{decay:g}") for decay in (1e-4, 1e-3)),
    *(well(plan("digits", clip=clip, **SGD), f"clip{clip:g}") for clip in (0.3, 1.0, 5.0)),
    *(
        well(plan("digits", accumulate=each, size=16, steps=400, lr=0.005), f"accumulate{each}")
        for each in (2, 4)
    ),
    well(plan("mnist", accumulate=8, size=8, steps=800, lr=0.01), "accumulate8"),
    well(plan("digits", lr=3e-4, steps=400), "patient"),
    well(plan("mnist", lr=3e-4, steps=300), "patient"),
    well(plan("friedman", optimizer="sgd", lr=0.003, momentum=0.9, steps=400), "patient"),
    well(plan("digits", norm="batch", optimizer="sgd", lr=0.5), "bold"),
    well(plan("digits", depth=1, lr=0.02), "bold"),
    well(plan("blobs", depth=0, optimizer="sgd", lr=1.0), "bold"),
    well(plan("mnist", depth=0, optimizer="sgd", lr=0.05), "logistic"),
]
SHAPES = [
    *(well(plan("digits", norm=norm), norm) for norm in ("batch", "layer", "group")),
    *(well(plan("digits", "cnn", 3, 8, norm=norm), norm) for norm in ("batch", "layer", "group")),
    *(well(plan("mnist", "cnn", 3, 8, norm=norm, **SGD), norm) for norm in ("batch", "group", "")),
    *(
        well(plan("digits", dropout=share, width=64), f"dropout{share:g}")
        for share in (0.1, 0.3, 0.5)
    ),
    well(plan("mnist", "cnn", 3, 12, dropout=0.2), "dropout"),
    well(plan("digits", depth=12, **RIGHT, lr=0.001, steps=300)),
    well(plan("blobs", depth=10, activation="selu", **RIGHT, **SGD)),
    well(plan("digits", depth=20, norm="batch", **RIGHT), "normed"),
    well(plan("circles", depth=30, width=16, norm="batch", **RIGHT, lr=0.01, steps=300), "normed"),
    well(plan("digits", "res", 20, 24, norm="layer", **RIGHT), "normed"),
    well(plan("digits", "res", 8, 12, norm="batch", **RIGHT), "normed"),
    well(plan("friedman", "res", 12, 24, gain=0.3, **RIGHT, lr=0.001), "bare"),
    well(plan("mnist", "res", 6, 8, norm="batch"), "normed"),
    well(plan("digits", "res", 28, 8, norm="batch", **RIGHT), "normed"),
    well(plan("mnist", "cnn", 12, 8, norm="batch", **RIGHT), "normed"),
    well(plan("cifar10", "cnn", 4, 16, norm="batch"), "normed"),
    well(plan("cifar10", "res", 6, 12, norm="batch"), "normed"),
    well(plan("cifar10", "cnn", 3, 16)),
    well(plan("cifar10", depth=2, width=64, lr=0.001)),
    well(plan("mnist", depth=3, **PLAIN)),
    *(well(plan("digits", schedule=each, **SGD), each) for each in SCHEDULES),
    *(well(plan("mnist", "cnn", 3, 8, schedule=each, lr=0.005), each) for each in SCHEDULES[1:5]),
    *(
        well(plan("digits", size=size, lr=lr, steps=steps), f"batch{size}")
        for size, lr, steps in (
            (4, 0.001, 600),
            (8, 0.002, 400),
            (256, 0.01, 150),
            (1297, 0.01, 150),
        )
    ),
    *(
        well(plan("sine", size=size, lr=lr, steps=300), f"batch{size}")
        for size, lr in ((8, 0.003), (1000, 0.01))
    ),
    *(well(plan("blobs", size=size, **SGD), f"batch{size}") for size in (16, 1000)),
]
LOSSES = [
    well(plan("digits", objective="ce_smooth"), "smooth"),
    well(plan("mnist", "cnn", 3, 8, objective="ce_smooth"), "smooth"),
    well(plan("circles", **BINARY), "bce"),
    well(plan("circles", objective="bce_probability", output="sigmoid"), "bce-sigmoid"),
    well(plan("imdb_bag", depth=1, objective="bce_probability", output="sigmoid"), "bce-sigmoid"),
    well(plan("digits", objective="nll", output="log_softmax"), "nll"),
    well(plan("reuters_bag", depth=1, objective="nll", output="log_softmax"), "nll"),
    well(plan("digits", objective="mse_onehot"), "mse-onehot"),
    well(plan("blobs", objective="mse_onehot", activation="tanh"), "mse-onehot"),
    well(plan("blobs", objective="ce_onehot"), "ce-onehot"),
    well(plan("digits", objective="bce_onehot"), "bce-onehot"),
    well(plan("circles", objective="hinge"), "hinge"),
    well(plan("digits", objective="margin"), "margin"),
    well(plan("circles", objective="mse_signs", output="tanh"), "mse-tanh"),
    well(plan("labels", depth=2, lr=0.01), "labels"),
    well(plan("labels", depth=1, activation="gelu", **SGD), "labels"),
    well(plan("rare", depth=2), "rare"),
    well(plan("rare", depth=2, **BINARY, **SGD), "rare-bce"),
    *(
        well(plan(data, objective=each, lr=0.005), each)
        for data in ("friedman", "sine")
        for each in ("huber", "l1", "smooth_l1")
    ),
    well(plan("friedman", objective="mse_thousands", lr=0.03, steps=400), "thousands"),
    well(plan("friedman", objective="huber_thousands", lr=0.05, steps=400), "thousands"),
    well(plan("sine", objective="l1_thousandths", lr=0.005, schedule="cosine"), "thousandths"),
    well(
        plan("friedman", objective="l1_thousandths", lr=0.005, schedule="cosine", steps=400),
        "thousandths",
    ),
    well(plan("friedman", objective="poisson", lr=0.005), "counts"),
    well(plan("plane", depth=2, lr=0.01), "plane"),
    well(plan("digits", "auto", 2, 64, reconstruct=True, objective="mse", lr=0.005), "auto"),
    well(
        plan(
            "digits",
            "auto",
            2,
            64,
            reconstruct=True,
            objective="mse",
            inputs=Unit(),
            output="sigmoid",
            lr=0.01,
        ),
        "auto-sigmoid",
    ),
    well(
        plan("mnist", "auto", 2, 64, reconstruct=True, objective="mse", activation="elu", lr=0.005),
        "auto",
    ),
    well(
        plan(
            "digits", "auto", 3, 64, reconstruct=True, objective="huber", activation="gelu", lr=0.01
        ),
        "auto-huber",
    ),
]
INPUTS = [
    well(plan("digits", inputs=Scaled(75.0, 100.0), scale=255.0, lr=0.005), "pixels"),
    well(plan("mnist", "cnn", 3, 8, inputs=Scaled(75.0, 100.0), scale=255.0), "pixels"),
    well(plan("friedman", inputs=WildFeature(1000.0), first_norm=True), "mixed"),
    well(plan("blobs", inputs=WildFeature(1e4), first_norm=True, **SGD), "mixed"),
    well(plan("circles", inputs=Scaled(50.0, 20.0), first_norm=True), "mixed"),
    well(plan("imdb_bag", depth=1), "sparse"),
    well(plan("imdb_bag", depth=2, dropout=0.3, optimizer="adamw", weight_decay=0.05), "sparse"),
    well(plan("reuters_bag", depth=1), "sparse"),
    well(plan("reuters_bag", depth=2, **SGD), "sparse"),
    well(plan("imdb", "bag", 1, lr=0.01, steps=300), "padded"),
    well(plan("imdb", "bag", 1, lr=0.01, steps=300, **BINARY), "padded-bce"),
    well(plan("reuters", "bag", 1, lr=0.01), "padded"),
    well(plan("reuters", "bag", 2, activation="tanh", lr=0.01), "padded"),
    well(plan("digits", spare=True), "unused"),
    well(plan("mnist", "cnn", 3, 8, spare=True), "unused"),
]
SEQUENCES = [
    well(
        plan("waves", "rnn", 1, 32, activation="tanh", **RIGHT, clip=1.0, lr=0.003, steps=250),
        "clip",
    ),
    well(plan("digits", "rnn", 1, 32, activation="tanh", **RIGHT), "rows"),
    well(plan("digits", "rnn", 1, 32, activation="relu", **RIGHT, clip=0.5), "rows"),
    well(plan("waves", "gru", 1, 24, lr=0.01), "waves"),
    well(plan("waves", "gru", 2, 16, lr=0.01, dropout=0.1), "waves"),
    well(plan("waves", "lstm", 1, 32, lr=0.02, steps=300, clip=1.0), "waves"),
    well(plan("digits", "lstm", 1, 32, lr=0.01), "rows"),
    well(plan("digits", "gru", 2, 24, lr=0.01, norm="layer"), "rows"),
    well(plan("exchange", "lstm", 1, 24, lr=0.01), "series"),
    well(plan("exchange", "gru", 1, 24, lr=0.005, objective="huber"), "series"),
    well(plan("exchange", "transformer", 1, 16), "series"),
    well(plan("exchange", "fc", 2, 32), "series"),
    well(plan("shakespeare", "gru", 1, 48, lr=0.01), "text"),
    well(plan("shakespeare", "lstm", 1, 48, lr=0.02, clip=1.0), "text"),
    well(
        plan(
            "shakespeare",
            "transformer",
            2,
            32,
            schedule="warm_up_cosine",
            lr=0.005,
            activation="gelu",
        ),
        "text",
    ),
    well(
        plan("shakespeare", "transformer", 2, 32, post_norm=True, schedule="warm_up"), "post-norm"
    ),
    well(
        plan("shakespeare", "transformer", 2, 32, tied=True, optimizer="adamw", weight_decay=0.1),
        "tied",
    ),
    well(
        plan(
            "shakespeare", "transformer", 4, 24, activation="gelu", dropout=0.1, clip=1.0, lr=0.005
        ),
        "text",
    ),
    well(plan("digits", "transformer", 2, 24, activation="gelu"), "rows"),
    well(plan("digits", "transformer", 2, 24, post_norm=True, schedule="warm_up"), "rows"),
    well(plan("waves", "transformer", 2, 16, lr=0.005, schedule="warm_up", steps=300), "waves"),
    well(plan("mnist", "gru", 1, 32, lr=0.01), "rows"),
]
# One or two samples a step: units are silent, losses and gradients jump, and nothing is wrong.
MOMENTUM: Settings = {"optimizer": "sgd", "lr": 0.003, "momentum": 0.9}
BOLD: Settings = {"optimizer": "sgd", "lr": 0.01, "momentum": 0.9}
SAMPLE_BY_SAMPLE = [
    well(plan("blobs", depth=1, width=48, size=1, steps=1200, **BOLD), "batch1"),
    well(plan("blobs", depth=2, size=2, steps=1200, **BOLD), "batch2"),
    well(plan("digits", depth=1, size=1, steps=1200, optimizer="sgd", lr=0.01), "batch1"),
    well(plan("digits", depth=2, size=2, steps=1200, **MOMENTUM), "batch2"),
    well(plan("digits", "cnn", 2, 8, size=1, steps=1200, lr=0.001), "batch1"),
    well(plan("digits", "cnn", 2, 8, size=2, steps=1200, **MOMENTUM), "batch2"),
    well(plan("digits", activation="tanh", depth=2, size=1, steps=1200, lr=0.001), "batch1"),
    well(plan("circles", depth=2, size=1, steps=1200, lr=0.002), "batch1"),
    well(plan("circles", depth=2, size=2, steps=1200, lr=0.002, **BINARY), "batch2-bce"),
    well(plan("friedman", depth=2, size=1, steps=1200, lr=0.002), "batch1"),
    well(plan("friedman", depth=1, size=2, steps=1200, lr=0.003, objective="l1"), "batch2-l1"),
    well(plan("friedman", activation="gelu", size=2, steps=1200, **PLAIN), "batch2"),
]
HEALTHY: list[Variant] = [
    *(*ACTIVATIONS, *OPTIMIZERS, *SHAPES, *LOSSES, *INPUTS, *SEQUENCES),
    *SAMPLE_BY_SAMPLE,  # last, as a variant's place makes its seed
]
