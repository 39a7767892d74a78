"""A distance as the loss of a classifier, at the end of a run that has not solved its task."""

from math import isfinite
from statistics import fmean

from sickbay.history import History
from sickbay.problems.shared.training_score import training_score
from sickbay.tasks import DISTANCES

LEAST = 70  # steps of a run that is judged
SOLVED = 0.9  # gain over a constant answer that leaves little to wish for
LEFT = 0.25  # of the squared error of even odds: a classifier that is sure and right has less
RECENT = 64  # losses whose mean counts


def distance_of_classes(history: History) -> str:
    """Return what is known about a run that ended with a distance between classes, "" if nothing.

    Softmax outputs are classes even where the targets are not known. The squared error of even odds
    of k classes is (k - 1) / k², so the loss itself tells what is left of it.

    >>> from sickbay.vitals import Setup
    >>> setup = Setup(loss="mse", output="softmax", output_shape=(8, 5), bare=True)
    >>> history = History(setup, loss=100 * [0.08])
    >>> history.ended = True
    >>> distance_of_classes(history)
    'mse of classes leaves 50 % of the error of even odds; cross-entropy often does better'
    """
    setup = history.setup
    if not history.ended or setup.loss not in DISTANCES or history.step + 1 < LEAST:
        return ""
    one_hot = setup.task == "multiclass" and setup.target_shape == setup.output_shape
    if one_hot or (setup.task == "binary" and setup.output == "sigmoid"):
        score = training_score(history, LEAST // 2)
        unsolved = score is not None and score.gain < SOLVED
        better = "cross-entropy often does better"
        return f"with {setup.loss} of classes, the model {score}; {better}" if unsolved else ""
    plain = setup.loss == "mse" and setup.bare and not setup.summed and not setup.task
    classes = setup.output_shape[-1] if len(setup.output_shape) == 2 else 0
    if not plain or setup.output != "softmax" or classes < 2:
        return ""
    left = fmean(history.recent("loss", RECENT)) / ((classes - 1) / classes**2)
    if not isfinite(left) or left <= LEFT:
        return ""
    told = f"mse of classes leaves {100 * left:.0f} % of the error of even odds"
    return f"{told}; cross-entropy often does better"
