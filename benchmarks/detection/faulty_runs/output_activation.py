"""Output activations that cannot reach the targets or that the loss applies again."""

from benchmarks.detection.run_variants import PLAIN, SGD, Settings, Variant, faulty, plan

LOGIT: Settings = {"objective": "bce"}
CHANCE: Settings = {"objective": "bce_probability", "output": "sigmoid"}

IMPROPER = [
    faulty(plan("digits", depth=4, activation="tanh", **PLAIN), output="softmax"),
    faulty(plan("digits", depth=3, **SGD), output="softmax"),
    faulty(plan("digits", depth=2, **PLAIN), output="sigmoid"),
    faulty(plan("digits", "cnn", 3, 8, **SGD), output="softmax"),
    faulty(plan("digits", depth=3), output="relu"),
    faulty(plan("circles", depth=3, **LOGIT), output="sigmoid"),
    faulty(plan("circles", depth=3, **LOGIT), output="softmax"),
    faulty(plan("circles", depth=3, **CHANCE), output="softmax"),
    faulty(plan("circles", depth=3, objective="hinge"), output="sigmoid"),
    faulty(plan("circles", depth=3, objective="mse_signs", output="tanh"), output="sigmoid"),
    faulty(plan("labels", depth=2), output="sigmoid"),
    faulty(plan("friedman", depth=3), output="sigmoid"),
    faulty(plan("friedman", depth=3), output="softmax"),
    faulty(plan("friedman", depth=3), output="clamp"),
    faulty(plan("sine", depth=3), output="relu"),
    faulty(plan("friedman", depth=3, objective="mse_hundreds", lr=0.03), output="tanh"),
    faulty(plan("plane", depth=2, lr=0.01), output="relu6"),
    faulty(plan("digits", "auto", 2, 48, reconstruct=True, objective="mse"), output="sigmoid"),
    faulty(plan("digits", "gru", 1, 24, **SGD), output="softmax"),
    faulty(plan("mnist", depth=3, **SGD), output="softmax"),
    faulty(plan("mnist", "cnn", 3, 8, **SGD), output="sigmoid"),
    faulty(plan("cifar10", "cnn", 3, 8), output="relu"),
    faulty(plan("reuters_bag", depth=1), output="softmax"),
    faulty(plan("imdb", "bag", 1, lr=0.01, **LOGIT), output="sigmoid"),
    faulty(plan("shakespeare", "transformer", 2, 32), output="softmax"),
    faulty(plan("exchange", "lstm", 1, 24, lr=0.01), output="sigmoid"),
]
DOUBLE = [
    faulty(
        plan(data, kind, depth, 32 if kind == "fc" else 8, **more), output=output, function=function
    )
    for data, kind, depth, output, function, more in (
        ("digits", "fc", 3, "softmax", False, SGD),
        ("digits", "fc", 2, "softmax", True, PLAIN),
        ("circles", "fc", 3, "sigmoid", False, LOGIT),
        ("circles", "fc", 3, "sigmoid", True, {**LOGIT, "activation": "tanh"}),
        ("labels", "fc", 2, "sigmoid", True, {}),
        ("digits", "cnn", 3, "softmax", True, SGD),
        ("mnist", "fc", 3, "softmax", False, SGD),
        ("reuters_bag", "fc", 1, "softmax", True, {}),
    )
]
OUTPUT: dict[str, list[Variant]] = {"improper_output": IMPROPER, "double_activation": DOUBLE}
