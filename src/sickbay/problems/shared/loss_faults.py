"""What is wrong with a loss, or with the outputs it gets, by what calling it has shown."""

from math import isfinite, log, nan
from statistics import fmean

from sickbay.history import History
from sickbay.problems.shared.learns_badly import is_nearly_solved
from sickbay.problems.shared.training_score import training_score
from sickbay.vitals import Setup

EPOCHS = 2  # after which a model should know more than chance
READINGS, CUT = 3, 0.1  # readings that must show it, and share of outputs that may be cut off
CERTAIN = 16.0  # a logit whose sigmoid rounds to 1
LEARNT, WELL = 0.1, 0.8  # of the way from chance to perfect
TINY = 0.02  # temperatures of distillation are below 20, those of attention below 40
AFTER = 70  # steps, as a model may outgrow a small factor at once
SMALL = 0.5  # a factor that holds outputs back if they cannot grow, as those of unit vectors
FEW, PART, RECENT = 0.2, 0.25, 64  # gain, part of its worth that shows in the loss, losses
LOGISTIC = ("cross_entropy", "nll", "bce", "bce_logits")


def loss_fault(history: History) -> str:
    """Return what is wrong with the loss, "" if nothing is.

    >>> loss_fault(History(Setup(wrong_sign=True)))
    'the loss is lower for wrong answers than for right ones'
    """
    setup = history.setup
    if setup.ignores_outputs:
        return "the loss gives the outputs no gradient, as after argmax or detach"
    if setup.wrong_sign:
        return "the loss is lower for wrong answers than for right ones"
    if setup.ignores_pairs:
        return "the loss compares averages over the batch, not each output with its own target"
    if setup.mixes_classes:
        return "the softmax inside the loss runs over the samples, not over the classes"
    if setup.unbounded:
        return "the loss has no lower bound: it falls for ever as outputs grow"
    if (setup.takes_log and _makes_nan(history)) or _is_certain(history):
        return "the loss is not finite where the model is certain, as if it took the logarithm of 0"
    if setup.loss == "mse" and _learns_nothing(history):
        return f"mse of {setup.output} outputs has no gradient where the model is certain and wrong"
    return ""


def output_fault(setup: Setup, reach: float) -> str:
    """Return what is wrong with the last activation, "" if nothing is.

    >>> output_fault(Setup(takes_probabilities=True, output="linear"), reach=0.75)
    'the loss takes probabilities, but gets linear outputs'
    """
    if setup.mixes_samples:
        return "the softmax of the outputs runs over the samples, not over the classes"
    if setup.takes_probabilities:
        return f"the loss takes probabilities, but gets {setup.output} outputs"
    if setup.output == "tanh" and setup.reach < reach:
        return f"tanh before a loss that takes any number; it can fall only {setup.reach:.0%}"
    return ""


def cut_off_fault(history: History) -> str:
    """Return what is wrong if the loss cuts outputs off at 0 and 1, "" if it does not.

    >>> cut_off_fault(History(cut_off=[0.4, 0.5, 0.5]))
    'the loss takes probabilities: 50 % of the outputs lie outside 0 to 1 and get no gradient'
    """
    shares = history.recent("cut_off", READINGS)
    if len(shares) < READINGS or not all(share > CUT for share in shares):
        return ""
    outside = f"{100 * shares[-1]:.0f} % of the outputs lie outside 0 to 1"
    return f"the loss takes probabilities: {outside} and get no gradient"


def scale_fault(history: History) -> str:
    """Return what is wrong if a constant makes the outputs of a model that learns badly tiny.

    >>> setup = Setup(loss="cross_entropy", scale=0.01)
    >>> scale_fault(History(setup, loss=100 * [2.3]))
    'the outputs are multiplied by 0.01 right before cross_entropy'
    """
    setup = history.setup
    if not 0 < setup.scale <= TINY or setup.loss not in LOGISTIC or history.step < AFTER:
        return ""
    score = training_score(history, AFTER)
    learns = is_nearly_solved(history) if score is None else score.gain > WELL
    return (
        ""
        if learns
        else f"the outputs are multiplied by {setup.scale:.3g} right before {setup.loss}"
    )


def held_back(history: History) -> str:
    """Return what is wrong if a constant factor keeps a model that is often right from saying so.

    A model that is right so often has a loss far below that of ignorance, unless its outputs cannot
    grow. Judged at the end of a run.

    >>> setup = Setup(loss="cross_entropy", task="multiclass", output_shape=(64, 64), scale=0.07)
    >>> history = History(setup, loss=100 * [4.1], score=100 * [0.5], constant_score=100 * [0.02])
    >>> history.ended = True
    >>> held_back(history)
    'right in 50 % of its answers, with a loss of 4.1: the outputs are multiplied by 0.07'
    """
    setup, score = history.setup, training_score(history, AFTER)
    classes = setup.output_shape[-1] if setup.output_shape else 0
    known = history.ended and score is not None and setup.loss == "cross_entropy"
    if not known or score is None or classes < 2 or not 0 < setup.scale < SMALL:
        return ""
    loss, right = fmean(history.recent("loss", RECENT)), min(score.score, 1 - 1e-6)
    honest = -right * log(right) - (1 - right) * log((1 - right) / (classes - 1)) if right else nan
    ignorant = log(classes)
    if score.gain < FEW or not ignorant - loss < PART * (ignorant - honest):
        return ""
    said = f"right in {100 * right:.0f} % of its answers, with a loss of {loss:.3g}"
    return f"{said}: the outputs are multiplied by {setup.scale:.3g}"


def _makes_nan(history: History) -> bool:
    """Return whether the loss is not finite, though the outputs are.

    Where the outputs were not read, the last step must have left the weights finite.
    """
    *before, newest = history.recent("loss", 2) or [0.0]
    if isfinite(newest):
        return False
    if outputs := history.batch("output"):
        return not outputs["nonfinite"] > 0
    *_, gradient = [nan, *history.recent("grad_norm", 2)[:-1]]
    return bool(before) and isfinite(before[0]) and isfinite(gradient)


def _is_certain(history: History) -> bool:
    """Return whether a logistic loss is not finite, though its outputs are, some of them certain.

    Torch's own losses are finite then. One that is written out takes the logarithm of a 0.
    """
    batch, loss = history.table("batch"), history.setup.loss
    if loss not in ("bce", "bce_logits") or isfinite(history.latest("loss")) or batch is None:
        return False
    if batch.step != history.step or "output" not in batch.names:
        return False
    output = batch.row("output")
    low, high = output["minimum"], output["maximum"]
    if loss == "bce":
        certain = 0 <= low <= high <= 1 and (low == 0 or high == 1)
    else:
        certain = max(-low, high) > CERTAIN
    return certain and output["nonfinite"] == 0


def _learns_nothing(history: History) -> bool:
    """Return whether classes behind a softmax or sigmoid are still guessed."""
    setup = history.setup
    bounded = setup.task == "multiclass" and setup.output in ("softmax", "sigmoid")
    accuracy = history.epochs("val_accuracy")
    if not bounded or not setup.output_shape or len(accuracy) < EPOCHS:
        return False
    chance = 1 / setup.output_shape[-1]
    return max(accuracy) < chance + LEARNT * (1 - chance)
