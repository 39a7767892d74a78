"""Gradients that vanish, explode or jump."""

from benchmarks.detection.fault_code import GradientTimes
from benchmarks.detection.run_variants import PLAIN, SGD, Settings, Variant, faulty, plan

RIGHT: Settings = {"init": "right"}
NORMED: Settings = {"init": "right", "norm": "batch"}
SIGMOID: Settings = {"activation": "sigmoid", "init": "torch"}

LONG: Settings = {**SGD, "steps": 300}

VANISHING = [
    *(
        faulty(plan(data, depth=depth, **RIGHT, **LONG), activation=activation, init="torch")
        for data, depth, activation in (
            ("circles", 7, "sigmoid"),
            ("blobs", 10, "sigmoid"),
            ("digits", 6, "sigmoid"),
            ("friedman", 8, "sigmoid"),
        )
    ),
    faulty(plan("circles", depth=12, activation="tanh", **RIGHT, **LONG), gain=0.3),
    faulty(plan("digits", depth=14, **RIGHT, lr=0.001, steps=300), activation="hardtanh", gain=0.4),
    faulty(plan("circles", depth=30, width=16, **NORMED, lr=0.01), "bare", norm="", init="torch"),
    faulty(plan("blobs", depth=19, width=24, activation="selu", **RIGHT, **PLAIN), **SIGMOID),
    faulty(plan("digits", depth=10, activation="elu", **RIGHT), **SIGMOID),
    faulty(plan("blobs", depth=6, **RIGHT, **SGD), gain=0.05),
    faulty(plan("digits", depth=9, activation="leaky", **RIGHT, **LONG), gain=0.2),
    faulty(plan("sine", depth=9, activation="tanh", **RIGHT, **SGD), gain=0.1),
    faulty(plan("digits", "cnn", 8, 8, **NORMED), "bare", norm="", **SIGMOID),
    faulty(plan("digits", "auto", 4, 64, reconstruct=True, objective="mse", **RIGHT), **SIGMOID),
    faulty(plan("waves", "rnn", 4, 24, activation="tanh", init="right", clip=1.0), gain=0.1),
    faulty(plan("digits", "gru", 3, 24), gain=0.01),
    faulty(plan("mnist", depth=9, **RIGHT, **LONG), **SIGMOID),
    faulty(plan("mnist", "cnn", 14, 8, **NORMED, **SGD, steps=150), "bare", norm="", **SIGMOID),
    faulty(plan("mnist", "cnn", 28, 8, **NORMED, size=32), "bare", norm="", **SIGMOID),
    faulty(plan("imdb_bag", depth=8, **RIGHT, **SGD), **SIGMOID),
    faulty(plan("reuters_bag", depth=7, **RIGHT, **SGD), **SIGMOID),
    faulty(plan("exchange", "lstm", 4, 16, lr=0.01), gain=0.02),
    faulty(plan("exchange", "lstm", 3, 16, **PLAIN, momentum=0.9), gain=0.05),
]
EXPLODING = [
    *(
        faulty(plan(data, depth=depth, activation=activation, **RIGHT, **LONG), gain=gain)
        for data, depth, activation, gain in (
            ("circles", 5, "relu", 8.0),
            ("circles", 12, "leaky", 3.0),
            ("blobs", 8, "relu", 5.0),
            ("digits", 6, "relu", 5.0),
            ("digits", 8, "gelu", 4.0),
            ("digits", 10, "relu", 2.5),
            ("friedman", 6, "relu", 5.0),
            ("sine", 10, "silu", 5.0),
            ("mnist", 8, "relu", 4.0),
            ("imdb_bag", 5, "relu", 6.0),
            ("reuters_bag", 6, "relu", 5.0),
        )
    ),
    faulty(plan("digits", depth=10, **RIGHT, lr=0.001), gain=3.0),
    faulty(plan("friedman", depth=8, activation="leaky", **RIGHT), gain=3.0),
    faulty(plan("mnist", depth=10, activation="selu", **RIGHT), gain=4.0),
    faulty(plan("blobs", depth=15, activation="elu", **RIGHT, **PLAIN), gain=4.0),
    faulty(plan("friedman", depth=7, activation="none", **RIGHT, **PLAIN), gain=4.0),
    faulty(plan("digits", "cnn", 6, 8, **RIGHT, **LONG), gain=5.0),
    faulty(plan("digits", "res", 12, 24, gain=0.3, **RIGHT, **PLAIN), gain=3.0),
    faulty(plan("sine", "res", 10, 24, gain=0.3, **RIGHT, **PLAIN), gain=3.0),
    faulty(
        plan(
            "digits",
            "auto",
            3,
            64,
            reconstruct=True,
            objective="mse",
            lr=0.05,
            optimizer="sgd",
            momentum=0.9,
            **RIGHT,
        ),
        gain=6.0,
    ),
    faulty(
        plan("waves", "rnn", 1, 24, activation="relu", **RIGHT, **PLAIN, clip=1.0),
        gain=2.5,
        clip=0.0,
    ),
    faulty(
        plan("mnist", "rnn", 1, 24, activation="relu", **RIGHT, **SGD, clip=1.0),
        gain=2.0,
        clip=0.0,
    ),
    faulty(plan("mnist", "cnn", 10, 8, **RIGHT, **LONG), gain=4.0),
    faulty(plan("cifar10", "cnn", 12, 8, **NORMED, **PLAIN), "bare", norm="", gain=3.0),
    faulty(
        plan("exchange", "rnn", 1, 24, activation="relu", **RIGHT, lr=0.01, optimizer="sgd"),
        gain=3.0,
    ),
]
MID = (90,)
STEADY = (  # plans for jumps of the gradients
    plan("blobs", **PLAIN),
    plan("digits", depth=4),
    plan("circles", depth=3, activation="tanh"),
    plan("friedman", depth=3),
    plan("digits", "cnn", 3, 8),
    plan("waves", "gru", 1, 16, lr=0.01),
    plan("shakespeare", "transformer", 2, 32),
    plan("mnist", depth=4, norm="layer"),
)
GRADIENTS: dict[str, list[Variant]] = {
    "vanishing_gradient": VANISHING,
    "exploding_gradient": EXPLODING,
    "gradient_spike": [
        faulty(base, first=MID[0], alone=True, surgery=GradientTimes(factor, MID))
        for base, factor in zip(STEADY, (20, 50, 100, 1000, 200, 1000, 1000, 100), strict=True)
    ],
    "gradient_collapse": [
        faulty(base, first=MID[0], alone=True, surgery=GradientTimes(factor, MID))
        for base, factor in zip(STEADY, (1e-6, 1e-8) * 4, strict=True)
    ],
}
