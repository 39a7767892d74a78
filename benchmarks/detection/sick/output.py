"""Output activations that cannot reach the targets, or that the loss applies a second time."""

from benchmarks.detection.variant import PLAIN, SGD, Settings, Variant, ill, plan

LOGIT: Settings = {"objective": "bce"}
CHANCE: Settings = {"objective": "bce_probability", "output": "sigmoid"}

IMPROPER = [
    ill(plan("digits", depth=4, activation="tanh", **PLAIN), output="softmax"),
    ill(plan("digits", depth=3, **SGD), output="softmax"),
    ill(plan("digits", depth=2, **PLAIN), output="sigmoid"),
    ill(plan("digits", "cnn", 3, 8, **SGD), output="softmax"),
    ill(plan("digits", depth=3), output="relu"),
    ill(plan("circles", depth=3, **LOGIT), output="sigmoid"),
    ill(plan("circles", depth=3, **LOGIT), output="softmax"),
    ill(plan("circles", depth=3, **CHANCE), output="softmax"),
    ill(plan("circles", depth=3, objective="hinge"), output="sigmoid"),
    ill(plan("circles", depth=3, objective="mse_signs", output="tanh"), output="sigmoid"),
    ill(plan("labels", depth=2), output="sigmoid"),
    ill(plan("friedman", depth=3), output="sigmoid"),
    ill(plan("friedman", depth=3), output="softmax"),
    ill(plan("friedman", depth=3), output="clamp"),
    ill(plan("sine", depth=3), output="relu"),
    ill(plan("friedman", depth=3, objective="mse_hundreds", lr=0.03), output="tanh"),
    ill(plan("plane", depth=2, lr=0.01), output="relu6"),
    ill(plan("digits", "auto", 2, 48, reconstruct=True, objective="mse"), output="sigmoid"),
    ill(plan("digits", "gru", 1, 24, **SGD), output="softmax"),
    ill(plan("mnist", depth=3, **SGD), output="softmax"),
    ill(plan("mnist", "cnn", 3, 8, **SGD), output="sigmoid"),
    ill(plan("cifar10", "cnn", 3, 8), output="relu"),
    ill(plan("reuters_bag", depth=1), output="softmax"),
    ill(plan("imdb", "bag", 1, lr=0.01, **LOGIT), output="sigmoid"),
    ill(plan("shakespeare", "transformer", 2, 32), output="softmax"),
    ill(plan("exchange", "lstm", 1, 24, lr=0.01), output="sigmoid"),
]
DOUBLE = [
    ill(
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
