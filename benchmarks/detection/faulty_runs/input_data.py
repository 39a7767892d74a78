"""Inputs with a wrong scale, outliers, and values that are not finite."""

from math import inf, nan

from benchmarks.detection.fault_code import Scaled, Some, WildFeature
from benchmarks.detection.run_variants import PLAIN, SGD, Variant, faulty, plan

PIXELS = Scaled(75.0, 100.0)  # maps standardised pixels to about 0 to 255

ABNORMAL = [
    faulty(plan("circles", depth=3, **PLAIN), inputs=Scaled(1e4)),
    faulty(plan("circles", depth=3, activation="tanh"), inputs=Scaled(1e5)),
    faulty(plan("blobs", depth=3, **PLAIN), inputs=Scaled(1e3)),
    faulty(plan("blobs", depth=3, **SGD), inputs=WildFeature(1e4)),
    faulty(plan("blobs", depth=2, **PLAIN), samples=Some(0.01, nan)),
    faulty(plan("digits", depth=3, **PLAIN), inputs=PIXELS),
    faulty(plan("digits", depth=4, **SGD), inputs=Scaled(1e3)),
    faulty(plan("digits", depth=3), samples=Some(0.005, inf)),
    faulty(plan("digits", depth=3, **SGD), samples=Some(0.02, factor=1e4)),
    faulty(plan("digits", "cnn", 3, 8, **SGD), inputs=PIXELS),
    faulty(plan("digits", "cnn", 3, 8), samples=Some(0.01, nan)),
    faulty(plan("digits", "gru", 1, 24, lr=0.01), inputs=Scaled(1e3)),
    faulty(plan("friedman", depth=3, **PLAIN), inputs=Scaled(100.0)),
    faulty(plan("friedman", depth=3), inputs=WildFeature(1e4)),
    faulty(plan("friedman", depth=3), samples=Some(0.01, nan)),
    faulty(plan("friedman", depth=3, **PLAIN), samples=Some(0.02, factor=1e4)),
    faulty(plan("sine", depth=3, activation="tanh"), inputs=Scaled(1.0, 1000.0)),
    faulty(plan("waves", "gru", 1, 24, lr=0.01), inputs=Scaled(1e4)),
    faulty(plan("mnist", depth=3, **PLAIN), inputs=PIXELS),
    faulty(plan("mnist", "cnn", 3, 8, **SGD), inputs=PIXELS),
    faulty(plan("mnist", depth=3, activation="sigmoid", lr=0.01), inputs=Scaled(1e4)),
    faulty(plan("cifar10", "cnn", 3, 8, **SGD), inputs=PIXELS),
    faulty(plan("imdb_bag", depth=1, **SGD), inputs=Scaled(1e3)),
    faulty(plan("reuters_bag", depth=1, **SGD), inputs=Scaled(1e3)),
    faulty(plan("exchange", "gru", 1, 24, lr=0.01), inputs=Scaled(1e3)),
]
UNNORMALISED = [
    faulty(plan("circles", depth=3), inputs=Scaled(1.0, 1000.0)),
    faulty(plan("circles", depth=3, **PLAIN), inputs=Scaled(1e3)),
    faulty(plan("digits", depth=3, activation="sigmoid", lr=0.01), inputs=Scaled(1e4)),
    faulty(plan("digits", depth=3, **SGD), inputs=Scaled(1000.0)),
    faulty(plan("digits", "cnn", 3, 8, **SGD), inputs=Scaled(300.0)),
    faulty(plan("friedman", depth=3, activation="tanh"), inputs=Scaled(1e3)),
    faulty(plan("sine", depth=3, **PLAIN), inputs=Scaled(50.0)),
    faulty(plan("mnist", depth=3, **PLAIN), inputs=PIXELS),
]
DATA: dict[str, list[Variant]] = {
    "abnormal_data": ABNORMAL,
    "unnormalised_input": UNNORMALISED,
}
