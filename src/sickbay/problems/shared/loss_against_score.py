"""A loss that goes its own way: it falls while nothing is learnt, or rises while much is."""

from itertools import pairwise
from math import isfinite, log
from statistics import fmean, median

from sickbay.history import History
from sickbay.problems.shared.planned_epochs import is_over
from sickbay.problems.shared.training_score import TrainingScore, training_score

AFTER, LEAST = 400, 70  # steps before a run is judged, and before a finished one is
GAIN, DOUBT = 0.1, 0.2  # over a constant answer: nothing, and its standard error
COMMON = 0.7  # share of the most frequent class that leaves a loss room to fall
FAR = 0.6  # of the loss of ignorance: below that, a model must know answers
FALL = 0.9  # of the first loss, where its scale is not known
RECENT = 64  # losses whose mean counts
EPOCHS, ENDS = 6, 2  # epochs needed, and those at either end that are compared
ROSE, BETTER = 1.3, 0.2  # times the first loss, and accuracy gained meanwhile
CLASSES = ("binary", "multiclass")
LOGISTIC = ("cross_entropy", "nll", "bce", "bce_logits")


def disagreement(history: History) -> str:
    """Return how the loss disagrees with the share of right answers, "" if it does not.

    >>> from sickbay.vitals import Setup
    >>> setup = Setup(task="multiclass", loss="cross_entropy", bare=True)
    >>> scores = {"score": 500 * [0.1], "constant_score": 500 * [0.11]}
    >>> disagreement(History(setup, loss=[*9 * [2.3], *491 * [0.4]], **scores))
    'the loss fell from 2.3 to 0.4, but a score of 0.1 on training batches is that of a constant'
    """
    return _falls_alone(history) or _rises_along(history)


def _falls_alone(history: History) -> str:
    early = history.step < AFTER or not is_over(history, 0.5)
    losses = history.recent("loss", RECENT)
    if (early and not history.ended) or not losses or history.setup.task not in CLASSES:
        return ""
    score = training_score(history, LEAST)
    if score is None or score.gain >= GAIN or score.doubt > DOUBT or score.constant > COMMON:
        return ""
    newest, first = fmean(losses), history.first("loss", 5)
    if not newest >= 0 or not _is_far_below(history, newest, first, score):
        return ""
    fell = f"the loss fell from {first:.3g} to {newest:.3g}"
    return f"{fell}, but a score of {score.score:.3g} on training batches is that of a constant"


def _is_far_below(history: History, newest: float, first: float, score: TrainingScore) -> bool:
    """Return whether the loss is so low that some answers should be known.

    One of unknown scale, or with other terms around it, must have fallen by `FALL`.
    """
    setup = history.setup
    if setup.loss in LOGISTIC and setup.bare and not setup.summed:
        return newest < -FAR * log(score.constant)
    return newest < (1 - FALL) * first


def _rises_along(history: History) -> str:
    losses = history.epochs("loss")
    name = next((each for each in ("accuracy", "val_accuracy") if history.epochs(each)), "")
    right = history.epochs(name)
    if len(losses) < EPOCHS or len(right) != len(losses) or not all(map(isfinite, losses + right)):
        return ""
    (old, new), (worse, better) = ((median(e[:ENDS]), median(e[-ENDS:])) for e in (losses, right))
    rises = sum(after > before for before, after in pairwise(losses))
    steadily = rises > COMMON * (len(losses) - 1)
    if not (steadily and new > ROSE * old > 0 and better - worse >= BETTER):
        return ""
    rose = f"the loss rose from {old:.3g} to {new:.3g}"
    return f"{rose}, and the accuracy from {worse:.3g} to {better:.3g}"
