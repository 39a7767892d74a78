"""The figures of the paper: Zhang et al., An automated monitoring and repairing system."""

from __future__ import annotations

from collections.abc import Mapping

SHORT: Mapping[str, str] = {
    "vanishing_gradient": "VG",
    "exploding_gradient": "EG",
    "dying_relu": "DR",
    "oscillating_accuracy": "OL",
    "slow_convergence": "SC",
    "improper_output": "IO",
    "improper_loss": "IL",
    "abnormal_data": "AD",
}
Row = tuple[float | None, ...]

MODELS, BUGGY, PROBLEMS, REPAIRED_MODELS, REPAIRED_PROBLEMS = 701, 422, 506, 414, 498
BEFORE, AFTER, GAIN, RECALL_GAIN, PRECISION_GAIN = 41.79, 78.21, 36.42, 36.27, 44.52
WORSE, BEST_GAIN, EXTRA_TIME, HEALTHY_TIME = 11, 90.17, 0.68, 0.01
GAIN_70, GAIN_30 = 56, "over 50 %"  # models with a gain of at least so many points
DISCOVERED = 0.955  # share of five repeated trainings in which a problem shows

# Table 2, problems repaired by each solution, in the order of its columns.
SOLUTIONS = (
    ("vanishing_gradient", "S2"), ("vanishing_gradient", "S1"),
    ("exploding_gradient", "S2"), ("exploding_gradient", "S1"), ("exploding_gradient", "S3"),
    ("dying_relu", "S2"), ("dying_relu", "S1"), ("dying_relu", "S4"),
    ("slow_convergence", "S7"), ("slow_convergence", "S6"), ("slow_convergence", "S4"),
    ("oscillating_accuracy", "S7"), ("oscillating_accuracy", "S6"),
    ("improper_output", "S2"), ("improper_loss", "S8"), ("abnormal_data", "S9"),
)  # fmt: skip
TABLE_2: Mapping[str, Row] = {
    "blob": (10, 2, 10, 0, 0, 4, 3, 1, 31, 0, 0, 4, 0, 28, 13, 20),
    "circle": (9, 1, 9, 1, 0, 6, 3, 0, 48, 1, 0, 7, 1, 9, 9, 8),
    "cifar10": (7, 0, 7, 1, 0, 2, 1, 0, 27, 1, 0, 2, 0, 13, 7, 10),
    "mnist": (6, 2, 10, 0, 0, 4, 0, 0, 20, 1, 0, 7, 1, 7, 13, 9),
    "reuters": (0, 4, 6, 0, 0, None, None, None, 19, 7, 0, 0, 4, 6, 15, None),
    "imdb": (5, 3, 5, 0, 1, None, None, None, 9, 3, 0, 0, 4, 3, 8, None),
    "": (37, 12, 47, 2, 1, 16, 7, 1, 154, 13, 0, 20, 10, 66, 65, 47),
}
# By problem: repaired and detected.
REPAIRED: Mapping[str, tuple[int, int]] = {
    "vanishing_gradient": (49, 53), "exploding_gradient": (50, 54), "dying_relu": (24, 24),
    "oscillating_accuracy": (30, 30), "slow_convergence": (167, 167), "improper_output": (66, 66),
    "improper_loss": (65, 65), "abnormal_data": (47, 47), "": (498, 506),
}  # fmt: skip
# Table 4: mean gain of accuracy in points, by the problems of `SHORT`.
TABLE_4: Mapping[str, Row] = {
    "blob": (27.26, 29.13, 18.33, -3.00, 41.44, 25.21, 2.12, 18.60),
    "circle": (29.12, 80.79, 26.86, 9.27, 32.84, 13.69, 8.47, 28.11),
    "cifar10": (54.48, 57.64, 59.38, 10.97, 50.58, 29.48, 41.58, 33.22),
    "mnist": (87.41, 87.21, 86.02, 56.80, 82.77, 75.03, 0.45, 0.73),
    "reuters": (18.59, 49.82, None, 19.75, 36.89, 42.07, 16.55, None),
    "imdb": (36.43, 85.94, None, -0.96, 31.33, 13.67, 16.21, None),
    "": (41.39, 65.92, 45.01, 15.14, 44.87, 28.10, 11.79, 21.23),
}
COUNTS_4: Mapping[str, Row] = {  # problems repaired
    "blob": (12, 10, 8, 4, 31, 28, 13, 20),
    "circle": (10, 10, 9, 8, 49, 9, 9, 8),
    "cifar10": (7, 8, 3, 2, 28, 13, 7, 10),
    "mnist": (8, 10, 4, 8, 21, 7, 13, 9),
    "reuters": (4, 6, None, 4, 26, 6, 15, None),
    "imdb": (8, 6, None, 4, 12, 3, 8, None),
    "": (49, 50, 24, 30, 167, 66, 65, 47),
}
INTERVALS = (2, 3, 4, 5, 9, 15)  # epochs between two checks
TABLE_5: Mapping[str, Row] = {
    "vanishing_gradient": (0.33, 1.12, 1.48, 1.78, 3.22, 6.22),
    "exploding_gradient": (0.38, 1.38, 2.38, 3.38, 7.38, 13.38),
    "dying_relu": (0.43, 1.15, 2.15, 2.29, 8.01, 8.01),
    "oscillating_accuracy": (0.40, 1.60, 1.60, 2.40, 3.40, 6.40),
    "slow_convergence": (0.32, 1.06, 1.25, 2.13, 2.74, 6.09),
    "abnormal_data": (0.35, 1.17, 1.62, 2.21, 3.01, 6.56),
}
ALONE = (
    ("vanishing_gradient", "S2"), ("vanishing_gradient", "S1"),
    ("exploding_gradient", "S2"), ("exploding_gradient", "S1"), ("exploding_gradient", "S3"),
    ("dying_relu", "S2"), ("dying_relu", "S1"), ("dying_relu", "S4"),
    ("oscillating_accuracy", "S7"), ("oscillating_accuracy", "S6"),
    ("oscillating_accuracy", "S4"), ("oscillating_accuracy", "S5"),
    ("slow_convergence", "S7"), ("slow_convergence", "S6"), ("slow_convergence", "S4"),
    ("improper_output", "S2"), ("improper_loss", "S8"), ("abnormal_data", "S9"),
)  # fmt: skip


def rows_of(text: str) -> dict[str, Row]:
    """Return the rows of a table. A name begins a row, and `all` names the row of all data sets.

    >>> rows_of("blob 1 - all 2.5 3")
    {'blob': (1.0, None), '': (2.5, 3.0)}
    """
    rows: dict[str, tuple[float | None, ...]] = {}
    for word in text.split():
        if word[0].isalpha():
            name = "" if word == "all" else word
            rows[name] = ()
        else:
            rows[name] += (None if word == "-" else float(word),)
    return rows


# Table 6: models repaired by one solution alone, in %, and their mean gain in points.
SOLVED_6: Mapping[str, Row] = rows_of("""
blob 100 66.67 100 100 100 100 100 66.67 100 100 100 100 100 100 100 100 100 100
circle 87.5 75 100 100 100 100 100 0 100 100 100 100 97.67 90.7 2.33 100 100 100
cifar10 100 100 100 100 100 100 100 0 100 100 100 100 96.43 96.43 17.86 100 100 100
mnist 100 100 50 100 100 100 100 50 100 100 100 100 100 100 40 100 100 100
reuters 0 100 100 0 100 - - - 0 100 100 100 95 100 35 100 100 -
imdb 100 100 100 100 0 - - - 50 100 100 100 90.91 72.73 9.09 100 100 -
all 91.18 85.29 92.11 84.21 86.84 100 100 23.53 76.47 100 100 100 97.32 94.63 32.89 100 100 100
""")
GAIN_6: Mapping[str, Row] = rows_of("""
blob 18.96 17.44 33.73 -7.33 -14.8 7.22 2.89 -12.89 -3 -2.33 -2.5 -27.33 41.44 30.1 -2.25 15.56
    -0.04 16.27
circle 21.29 20.71 85.33 49.42 54.87 13.48 16 - 9.27 8.6 2 -7.33 33.05 26.64 -0.02 6.9 10.11
    24.37
cifar10 56.74 58.59 52.36 0.5 1.67 12.34 58.85 - 10.97 8.03 4.42 -15.45 49.98 33.01 0.26 19.82
    40.79 31.64
mnist 87.64 87.37 0.02 14.61 51.6 86.02 87.84 0 56.82 56.55 17.99 -30.81 82.77 70.65 3.36 74.89
    0.22 0.14
reuters - 18.59 52.07 - 0.85 - - - - 19.75 5.63 1.96 40.24 31.08 0.02 36.57 16.16 -
imdb 36.56 37.63 85.94 50.12 - - - - 1.26 0.5 -8.27 -7.41 30.04 11.91 0 11.43 10.02 -
all 36.64 37.58 52.96 18.45 18.24 29.24 38.15 -2.27 13.34 15.15 2.45 -13.23 45.17 33.88 0.09
    22.2 11.22 18.39
""")
# Figure 2: share of the trainings, and mean accuracy in %.
DYING = {"share": 0.8, "with": 11.35, "without": 85.34, "repaired": 93.23}
OSCILLATING = {"none": 0.29, "without": 90.47, "repaired": 97.65}
STAGES = (0.5, 0.09, 0.08, 0.04, 0.0)  # first seen in each fifth of the training
# Figure 6: mean gain in points.
FREQUENT, OCCASIONAL, TRAINED_AGAIN = 36.14, 8.54, 2.71
