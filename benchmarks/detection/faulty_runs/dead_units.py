"""Dead or saturated units, and constant predictions."""

from benchmarks.detection.fault_code import Layer, Scaled, Weights, negative
from benchmarks.detection.run_variants import SGD, Variant, faulty, plan

NEGATIVE = Layer("hidden", negative)

DYING = [
    faulty(plan("circles", depth=3), bias=-10.0),
    faulty(plan("circles", depth=6, init="right"), bias=-5.0),
    faulty(plan("blobs", depth=4, **SGD), bias=-6.0),
    faulty(plan("blobs", depth=8, init="right"), surgery=NEGATIVE),
    faulty(plan("digits", depth=3), bias=-10.0),
    faulty(plan("digits", depth=4), surgery=NEGATIVE),
    faulty(plan("digits", depth=12, init="right"), bias=-3.0),
    faulty(plan("digits", depth=6), lr=1.0),
    faulty(plan("friedman", depth=3), bias=-8.0),
    faulty(plan("friedman", depth=5, init="right"), lr=1.0),
    faulty(plan("sine", depth=4, **SGD), bias=-4.0),
    faulty(plan("labels", depth=3), bias=-10.0),
    faulty(plan("digits", "cnn", 4, 8), bias=-5.0),
    faulty(plan("digits", "cnn", 3, 8, **SGD), bias=-3.0),
    faulty(plan("digits", "auto", 3, 64, reconstruct=True, objective="mse"), bias=-6.0),
    faulty(plan("mnist", depth=4), bias=-10.0),
    faulty(plan("mnist", "cnn", 6, 8, init="right"), bias=-5.0),
    faulty(plan("cifar10", "cnn", 4, 8), bias=-8.0),
    faulty(plan("imdb", "bag", 3, lr=0.01), bias=-5.0),
    faulty(plan("reuters_bag", depth=3), surgery=NEGATIVE),
    faulty(plan("reuters", "bag", 4, lr=0.01), bias=-3.0),
    faulty(plan("circles", depth=4, inline=True), "inline-bias-8", bias=-8.0),
    faulty(plan("digits", depth=3, inline=True), "inline-bias-10", bias=-10.0),
    faulty(plan("digits", "cnn", 3, 8, inline=True), "inline-bias-6", bias=-6.0),
    faulty(plan("friedman", depth=4, inline=True), "inline-negative", surgery=NEGATIVE),
]
SATURATED = [
    faulty(plan("circles", depth=3, activation="tanh", init="right"), gain=60.0),
    faulty(plan("blobs", depth=4, activation="tanh", init="right", **SGD), gain=30.0),
    faulty(plan("digits", depth=3, activation="sigmoid", init="right", lr=0.01), gain=50.0),
    faulty(plan("digits", depth=2, activation="tanh"), inputs=Scaled(300.0)),
    faulty(plan("friedman", depth=3, activation="tanh"), gain=50.0),
    faulty(plan("blobs", depth=3, activation="sigmoid", init="right", lr=0.01), gain=60.0),
    faulty(plan("waves", "rnn", 1, 24, activation="tanh", init="right"), gain=40.0),
    faulty(plan("mnist", depth=3, activation="tanh"), gain=60.0),
]
DEAD = [
    faulty(plan(data, depth=depth, **more), surgery=Layer(which, Weights(bias=bias)))
    for data, depth, which, bias, more in (
        ("circles", 3, "middle", -10.0, {}),
        ("blobs", 4, "second", -8.0, SGD),
        ("digits", 5, "middle", -10.0, {"init": "right"}),
        ("digits", 3, "first", -30.0, SGD),
        ("friedman", 4, "middle", -8.0, {}),
        ("sine", 3, "second", -8.0, {}),
        ("mnist", 4, "middle", -10.0, {"init": "right"}),
    )
]
ZERO = Layer("all", Weights(0.0, 0.0))
COLLAPSED = [
    faulty(plan("digits", depth=3), surgery=ZERO),
    faulty(plan("blobs", depth=4, **SGD), surgery=ZERO),
    faulty(plan("digits", "cnn", 3, 8), surgery=ZERO),
    faulty(plan("digits", depth=3, **SGD), weight_decay=3.0),
    faulty(plan("blobs", depth=3, activation="tanh"), weight_decay=5.0),
    faulty(plan("circles", depth=3, activation="gelu"), surgery=ZERO),
    faulty(plan("mnist", depth=3), weight_decay=5.0),
]
UNITS: dict[str, list[Variant]] = {
    "dying_relu": DYING,
    "saturated_activation": SATURATED,
    "dead_units": DEAD,
    "constant_prediction": COLLAPSED,
}
