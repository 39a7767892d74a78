"""Wrong learning rates and their consequences."""

from benchmarks.detection.run_variants import PLAIN, SGD, Variant, faulty, plan

OSCILLATING = [
    faulty(plan("circles", depth=3, activation="tanh"), lr=0.5),
    faulty(plan("circles", depth=4, activation="tanh", optimizer="rmsprop"), lr=0.5),
    faulty(plan("blobs", depth=3, activation="tanh"), lr=1.0),
    faulty(plan("friedman", depth=2, activation="gelu", optimizer="rmsprop"), lr=0.5),
    faulty(plan("blobs", depth=3, activation="tanh", **SGD), lr=3.0),
    faulty(plan("digits", depth=2, activation="elu", optimizer="nadam"), lr=0.5),
    faulty(plan("digits", depth=3, activation="tanh"), lr=0.5),
    faulty(plan("digits", depth=3, activation="elu", optimizer="rmsprop"), lr=0.3),
    faulty(plan("digits", depth=4, activation="tanh", **SGD), lr=2.0),
    faulty(plan("digits", depth=2, activation="sigmoid", lr=0.01, size=2), lr=1.0),
    faulty(plan("friedman", depth=3, activation="tanh"), lr=0.5),
    faulty(plan("friedman", depth=3, activation="leaky"), lr=1.0),
    faulty(plan("sine", depth=3, activation="tanh", **SGD), momentum=0.999),
    faulty(plan("sine", depth=3, activation="silu", size=8), lr=0.5),
    faulty(plan("digits", "cnn", 3, 8, norm="batch", **SGD), lr=30.0),
    faulty(plan("waves", "gru", 1, 24, lr=0.01), lr=1.0),
    faulty(plan("waves", "lstm", 1, 24, lr=0.02, steps=300), lr=1.0),
    faulty(plan("mnist", depth=3, activation="tanh"), lr=0.5),
    faulty(plan("mnist", depth=2, activation="elu", optimizer="rmsprop"), lr=0.3),
    faulty(plan("imdb", "bag", 1, 16, activation="tanh", lr=0.01), lr=3.0),
    faulty(plan("reuters_bag", depth=1, activation="leaky"), lr=1.0),
    faulty(plan("shakespeare", "gru", 1, 32, lr=0.01), lr=1.0),
    faulty(plan("exchange", depth=2, activation="tanh"), lr=1.0),
]
SLOW = [
    *(
        faulty(plan(data, kind, depth, width, **more), lr=lr)
        for data, kind, depth, width, lr, more in (
            ("circles", "fc", 3, 32, 1e-4, SGD),
            ("circles", "fc", 5, 32, 1e-6, {}),
            ("blobs", "fc", 3, 32, 1e-4, PLAIN),
            ("blobs", "fc", 2, 32, 1e-6, {"activation": "tanh"}),
            ("digits", "fc", 3, 32, 1e-4, SGD),
            ("digits", "fc", 4, 32, 1e-6, {"init": "right"}),
            ("digits", "fc", 2, 32, 1e-6, {"optimizer": "adamw", "activation": "gelu"}),
            ("digits", "cnn", 3, 8, 1e-4, SGD),
            ("digits", "cnn", 3, 8, 1e-6, {"optimizer": "rmsprop"}),
            ("digits", "res", 4, 16, 1e-5, {**SGD, "init": "right", "lr": 0.01}),
            ("friedman", "fc", 3, 32, 1e-4, SGD),
            ("friedman", "fc", 3, 32, 1e-6, {}),
            ("sine", "fc", 3, 32, 1e-5, SGD),
            ("waves", "gru", 1, 24, 1e-5, {"lr": 0.01}),
            ("waves", "lstm", 1, 24, 1e-4, {**SGD, "lr": 0.5}),
            ("mnist", "fc", 3, 32, 1e-4, SGD),
            ("mnist", "cnn", 3, 8, 1e-6, {}),
            ("cifar10", "cnn", 3, 8, 1e-4, PLAIN),
            ("imdb", "bag", 1, 32, 1e-5, {"lr": 0.01}),
            ("reuters_bag", "fc", 1, 32, 1e-4, SGD),
            ("shakespeare", "transformer", 2, 32, 1e-6, {}),
            ("exchange", "gru", 1, 16, 1e-6, {"lr": 0.01}),
        )
    ),
    faulty(plan("plane", depth=2, lr=0.01), optimizer="sgd", lr=1e-4),
    faulty(
        plan("digits", "auto", 2, 48, reconstruct=True, objective="mse"), optimizer="sgd", lr=1e-3
    ),
]
TOO_HIGH = [
    faulty(plan("circles", depth=3), lr=3.0),
    faulty(plan("blobs", depth=4, **PLAIN), lr=30.0),
    faulty(plan("digits", depth=3, **SGD), lr=5.0),
    faulty(plan("digits", depth=3, activation="tanh"), lr=1.0),
    faulty(plan("friedman", depth=3, **PLAIN), lr=10.0),
    faulty(plan("digits", "cnn", 3, 8), lr=1.0),
    faulty(plan("waves", "gru", 1, 16, lr=0.01), lr=3.0),
    faulty(plan("mnist", depth=3, **SGD), lr=5.0),
    faulty(plan("shakespeare", "transformer", 2, 32), lr=0.5),
]
TOO_LOW = [
    faulty(plan("circles", depth=3), lr=1e-7),
    faulty(plan("blobs", depth=3, **SGD), lr=1e-6),
    faulty(plan("digits", depth=4), lr=1e-7),
    faulty(plan("friedman", depth=3, activation="gelu"), lr=1e-7),
    faulty(plan("digits", "cnn", 3, 8, **SGD), lr=1e-6),
    faulty(plan("waves", "gru", 1, 16, lr=0.01), lr=1e-7),
    faulty(plan("mnist", depth=3, **SGD), lr=1e-6),
    faulty(plan("shakespeare", "transformer", 2, 32), lr=1e-7),
]
CONVERGENCE: dict[str, list[Variant]] = {
    "oscillating_accuracy": OSCILLATING,
    "slow_convergence": SLOW,
    "learning_rate_too_high": TOO_HIGH,
    "learning_rate_too_low": TOO_LOW,
}
