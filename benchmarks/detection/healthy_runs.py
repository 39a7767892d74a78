"""The healthy runs, many of which look suspicious."""

from __future__ import annotations

from benchmarks.detection.fault_code import Scaled, Unit, WildFeature
from benchmarks.detection.run_variants import PLAIN, SGD, Settings, Variant, healthy, plan

EVERY = (
    *("relu", "leaky", "elu", "selu", "gelu", "silu"),
    *("tanh", "sigmoid", "softplus", "prelu", "hardswish", "mish"),
)
RIGHT: Settings = {"init": "right"}
BINARY: Settings = {"objective": "bce"}
RATES = {  # optimizers with a suitable learning rate
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
    *(healthy(plan("digits", activation=each, lr=0.005)) for each in EVERY),
    *(healthy(plan("circles", depth=2, activation=each, lr=0.01)) for each in EVERY[:6]),
    *(healthy(plan("friedman", depth=2, activation=each, lr=0.01)) for each in EVERY[6:]),
]
OPTIMIZERS = [
    *(healthy(plan("digits", optimizer=each, lr=lr), "optimizer") for each, lr in RATES.items()),
    *(
        healthy(plan("blobs", depth=2, activation="tanh", optimizer=each, lr=lr))
        for each, lr in RATES.items()
    ),
    *(
        healthy(plan("sine", depth=2, optimizer=each, lr=lr * 2, steps=300))
        for each, lr in RATES.items()
        if each != "sgd"
    ),
    *(healthy(plan(data, **SGD), "momentum") for data in ("digits", "circles", "friedman")),
    *(healthy(plan(data, **SGD, nesterov=True), "nesterov") for data in ("digits", "blobs")),
    *(
        healthy(plan("digits", weight_decay=decay, optimizer="adamw"), f"decay{decay:g}")
        for decay in (0.01, 0.1)
    ),
    *(
        healthy(plan("digits", weight_decay=decay, **SGD), f"decay{decay:g}")
        for decay in (1e-4, 1e-3)
    ),
    *(healthy(plan("digits", clip=clip, **SGD), f"clip{clip:g}") for clip in (0.3, 1.0, 5.0)),
    *(
        healthy(plan("digits", accumulate=each, size=16, steps=400, lr=0.005), f"accumulate{each}")
        for each in (2, 4)
    ),
    healthy(plan("mnist", accumulate=8, size=8, steps=800, lr=0.01), "accumulate8"),
    healthy(plan("digits", lr=3e-4, steps=400), "patient"),
    healthy(plan("mnist", lr=3e-4, steps=300), "patient"),
    healthy(plan("friedman", optimizer="sgd", lr=0.003, momentum=0.9, steps=400), "patient"),
    healthy(plan("digits", norm="batch", optimizer="sgd", lr=0.5), "bold"),
    healthy(plan("digits", depth=1, lr=0.02), "bold"),
    healthy(plan("blobs", depth=0, optimizer="sgd", lr=1.0), "bold"),
    healthy(plan("mnist", depth=0, optimizer="sgd", lr=0.05), "logistic"),
]
SHAPES = [
    *(healthy(plan("digits", norm=norm), norm) for norm in ("batch", "layer", "group")),
    *(
        healthy(plan("digits", "cnn", 3, 8, norm=norm), norm)
        for norm in ("batch", "layer", "group")
    ),
    *(
        healthy(plan("mnist", "cnn", 3, 8, norm=norm, **SGD), norm)
        for norm in ("batch", "group", "")
    ),
    *(
        healthy(plan("digits", dropout=share, width=64), f"dropout{share:g}")
        for share in (0.1, 0.3, 0.5)
    ),
    healthy(plan("mnist", "cnn", 3, 12, dropout=0.2), "dropout"),
    healthy(plan("digits", depth=12, **RIGHT, lr=0.001, steps=300)),
    healthy(plan("blobs", depth=10, activation="selu", **RIGHT, **SGD)),
    healthy(plan("digits", depth=20, norm="batch", **RIGHT), "normed"),
    healthy(
        plan("circles", depth=30, width=16, norm="batch", **RIGHT, lr=0.01, steps=300), "normed"
    ),
    healthy(plan("digits", "res", 20, 24, norm="layer", **RIGHT), "normed"),
    healthy(plan("digits", "res", 8, 12, norm="batch", **RIGHT), "normed"),
    healthy(plan("friedman", "res", 12, 24, gain=0.3, **RIGHT, lr=0.001), "bare"),
    healthy(plan("mnist", "res", 6, 8, norm="batch"), "normed"),
    healthy(plan("digits", "res", 28, 8, norm="batch", **RIGHT), "normed"),
    healthy(plan("mnist", "cnn", 12, 8, norm="batch", **RIGHT), "normed"),
    healthy(plan("cifar10", "cnn", 4, 16, norm="batch"), "normed"),
    healthy(plan("cifar10", "res", 6, 12, norm="batch"), "normed"),
    healthy(plan("cifar10", "cnn", 3, 16)),
    healthy(plan("cifar10", depth=2, width=64, lr=0.001)),
    healthy(plan("mnist", depth=3, **PLAIN)),
    *(healthy(plan("digits", schedule=each, **SGD), each) for each in SCHEDULES),
    *(
        healthy(plan("mnist", "cnn", 3, 8, schedule=each, lr=0.005), each)
        for each in SCHEDULES[1:5]
    ),
    *(
        healthy(plan("digits", size=size, lr=lr, steps=steps), f"batch{size}")
        for size, lr, steps in (
            (4, 0.001, 600),
            (8, 0.002, 400),
            (256, 0.01, 150),
            (1297, 0.01, 150),
        )
    ),
    *(
        healthy(plan("sine", size=size, lr=lr, steps=300), f"batch{size}")
        for size, lr in ((8, 0.003), (1000, 0.01))
    ),
    *(healthy(plan("blobs", size=size, **SGD), f"batch{size}") for size in (16, 1000)),
]
LOSSES = [
    healthy(plan("digits", objective="ce_smooth"), "smooth"),
    healthy(plan("mnist", "cnn", 3, 8, objective="ce_smooth"), "smooth"),
    healthy(plan("circles", **BINARY), "bce"),
    healthy(plan("circles", objective="bce_probability", output="sigmoid"), "bce-sigmoid"),
    healthy(
        plan("imdb_bag", depth=1, objective="bce_probability", output="sigmoid"), "bce-sigmoid"
    ),
    healthy(plan("digits", objective="nll", output="log_softmax"), "nll"),
    healthy(plan("reuters_bag", depth=1, objective="nll", output="log_softmax"), "nll"),
    healthy(plan("digits", objective="mse_onehot"), "mse-onehot"),
    healthy(plan("blobs", objective="mse_onehot", activation="tanh"), "mse-onehot"),
    healthy(plan("blobs", objective="ce_onehot"), "ce-onehot"),
    healthy(plan("digits", objective="bce_onehot"), "bce-onehot"),
    healthy(plan("circles", objective="hinge"), "hinge"),
    healthy(plan("digits", objective="margin"), "margin"),
    healthy(plan("circles", objective="mse_signs", output="tanh"), "mse-tanh"),
    healthy(plan("labels", depth=2, lr=0.01), "labels"),
    healthy(plan("labels", depth=1, activation="gelu", **SGD), "labels"),
    healthy(plan("rare", depth=2), "rare"),
    healthy(plan("rare", depth=2, **BINARY, **SGD), "rare-bce"),
    *(
        healthy(plan(data, objective=each, lr=0.005), each)
        for data in ("friedman", "sine")
        for each in ("huber", "l1", "smooth_l1")
    ),
    healthy(plan("friedman", objective="mse_thousands", lr=0.03, steps=400), "thousands"),
    healthy(plan("friedman", objective="huber_thousands", lr=0.05, steps=400), "thousands"),
    healthy(plan("sine", objective="l1_thousandths", lr=0.005, schedule="cosine"), "thousandths"),
    healthy(
        plan("friedman", objective="l1_thousandths", lr=0.005, schedule="cosine", steps=400),
        "thousandths",
    ),
    healthy(plan("friedman", objective="poisson", lr=0.005), "counts"),
    healthy(plan("plane", depth=2, lr=0.01), "plane"),
    healthy(plan("digits", "auto", 2, 64, reconstruct=True, objective="mse", lr=0.005), "auto"),
    healthy(
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
    healthy(
        plan("mnist", "auto", 2, 64, reconstruct=True, objective="mse", activation="elu", lr=0.005),
        "auto",
    ),
    healthy(
        plan(
            "digits", "auto", 3, 64, reconstruct=True, objective="huber", activation="gelu", lr=0.01
        ),
        "auto-huber",
    ),
]
INPUTS = [
    healthy(plan("digits", inputs=Scaled(75.0, 100.0), scale=255.0, lr=0.005), "pixels"),
    healthy(plan("mnist", "cnn", 3, 8, inputs=Scaled(75.0, 100.0), scale=255.0), "pixels"),
    healthy(plan("friedman", inputs=WildFeature(1000.0), first_norm=True), "mixed"),
    healthy(plan("blobs", inputs=WildFeature(1e4), first_norm=True, **SGD), "mixed"),
    healthy(plan("circles", inputs=Scaled(50.0, 20.0), first_norm=True), "mixed"),
    healthy(plan("imdb_bag", depth=1), "sparse"),
    healthy(plan("imdb_bag", depth=2, dropout=0.3, optimizer="adamw", weight_decay=0.05), "sparse"),
    healthy(plan("reuters_bag", depth=1), "sparse"),
    healthy(plan("reuters_bag", depth=2, **SGD), "sparse"),
    healthy(plan("imdb", "bag", 1, lr=0.01, steps=300), "padded"),
    healthy(plan("imdb", "bag", 1, lr=0.01, steps=300, **BINARY), "padded-bce"),
    healthy(plan("reuters", "bag", 1, lr=0.01), "padded"),
    healthy(plan("reuters", "bag", 2, activation="tanh", lr=0.01), "padded"),
    healthy(plan("digits", spare=True), "unused"),
    healthy(plan("mnist", "cnn", 3, 8, spare=True), "unused"),
]
SEQUENCES = [
    healthy(
        plan("waves", "rnn", 1, 32, activation="tanh", **RIGHT, clip=1.0, lr=0.003, steps=250),
        "clip",
    ),
    healthy(plan("digits", "rnn", 1, 32, activation="tanh", **RIGHT), "rows"),
    healthy(plan("digits", "rnn", 1, 32, activation="relu", **RIGHT, clip=0.5), "rows"),
    healthy(plan("waves", "gru", 1, 24, lr=0.01), "waves"),
    healthy(plan("waves", "gru", 2, 16, lr=0.01, dropout=0.1), "waves"),
    healthy(plan("waves", "lstm", 1, 32, lr=0.02, steps=300, clip=1.0), "waves"),
    healthy(plan("digits", "lstm", 1, 32, lr=0.01), "rows"),
    healthy(plan("digits", "gru", 2, 24, lr=0.01, norm="layer"), "rows"),
    healthy(plan("exchange", "lstm", 1, 24, lr=0.01), "series"),
    healthy(plan("exchange", "gru", 1, 24, lr=0.005, objective="huber"), "series"),
    healthy(plan("exchange", "transformer", 1, 16), "series"),
    healthy(plan("exchange", "fc", 2, 32), "series"),
    healthy(plan("shakespeare", "gru", 1, 48, lr=0.01), "text"),
    healthy(plan("shakespeare", "lstm", 1, 48, lr=0.02, clip=1.0), "text"),
    healthy(
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
    healthy(
        plan("shakespeare", "transformer", 2, 32, post_norm=True, schedule="warm_up"), "post-norm"
    ),
    healthy(
        plan("shakespeare", "transformer", 2, 32, tied=True, optimizer="adamw", weight_decay=0.1),
        "tied",
    ),
    healthy(
        plan(
            "shakespeare", "transformer", 4, 24, activation="gelu", dropout=0.1, clip=1.0, lr=0.005
        ),
        "text",
    ),
    healthy(plan("digits", "transformer", 2, 24, activation="gelu"), "rows"),
    healthy(plan("digits", "transformer", 2, 24, post_norm=True, schedule="warm_up"), "rows"),
    healthy(plan("waves", "transformer", 2, 16, lr=0.005, schedule="warm_up", steps=300), "waves"),
    healthy(plan("mnist", "gru", 1, 32, lr=0.01), "rows"),
]
# Batches of one or two: units are silent, losses and gradients jump, and nothing is wrong.
MOMENTUM: Settings = {"optimizer": "sgd", "lr": 0.003, "momentum": 0.9}
BOLD: Settings = {"optimizer": "sgd", "lr": 0.01, "momentum": 0.9}
SAMPLE_BY_SAMPLE = [
    healthy(plan("blobs", depth=1, width=48, size=1, steps=1200, **BOLD), "batch1"),
    healthy(plan("blobs", depth=2, size=2, steps=1200, **BOLD), "batch2"),
    healthy(plan("digits", depth=1, size=1, steps=1200, optimizer="sgd", lr=0.01), "batch1"),
    healthy(plan("digits", depth=2, size=2, steps=1200, **MOMENTUM), "batch2"),
    healthy(plan("digits", "cnn", 2, 8, size=1, steps=1200, lr=0.001), "batch1"),
    healthy(plan("digits", "cnn", 2, 8, size=2, steps=1200, **MOMENTUM), "batch2"),
    healthy(plan("digits", activation="tanh", depth=2, size=1, steps=1200, lr=0.001), "batch1"),
    healthy(plan("circles", depth=2, size=1, steps=1200, lr=0.002), "batch1"),
    healthy(plan("circles", depth=2, size=2, steps=1200, lr=0.002, **BINARY), "batch2-bce"),
    healthy(plan("friedman", depth=2, size=1, steps=1200, lr=0.002), "batch1"),
    healthy(plan("friedman", depth=1, size=2, steps=1200, lr=0.003, objective="l1"), "batch2-l1"),
    healthy(plan("friedman", activation="gelu", size=2, steps=1200, **PLAIN), "batch2"),
]
HEALTHY: list[Variant] = [
    *(*ACTIVATIONS, *OPTIMIZERS, *SHAPES, *LOSSES, *INPUTS, *SEQUENCES),
    *SAMPLE_BY_SAMPLE,  # last, because the seed of a variant is its index
]
