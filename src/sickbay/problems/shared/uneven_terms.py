"""Terms of a loss that pull the model so hard that others hardly count."""

from sickbay.history import History
from sickbay.problems.shared.training_score import gains_less, training_score

READINGS, MANY = 3, 512  # that must show it at first, and to look back at
HARD, HARDER = 4.0, 25.0  # times the pull of the errors: if little is learnt, and in any case
LEARNT, WELL = 0.25, 0.7  # gain over a constant answer that is little, and that is good
AFTER = 70  # steps after which a model should gain something
FAINT = 0.01  # share of all errors that hardly counts


def drowned_errors(history: History) -> str:
    """Return what is wrong if other terms pull the model much harder than its errors do.

    A penalty may pull hard in the first steps alone, so this waits until a model should know more.

    >>> history = History(side_pull=[900.0, 700.0, 500.0])
    >>> history.ended = True
    >>> drowned_errors(history)
    'where the terms of the loss meet, others pull 700 times as hard as the errors'
    """
    pulls = [pull for _, pull in history.timed("side_pull", MANY)[:READINGS]]
    if len(pulls) < READINGS or min(*pulls, history.latest("side_pull")) < HARD:
        return ""
    score = training_score(history, AFTER)
    good = score is not None and score.gain >= WELL
    drowned = history.ended and min(pulls) >= HARDER and not good
    if not drowned and not gains_less(history, LEARNT, AFTER):
        return ""
    typical = float(f"{sorted(pulls)[READINGS // 2]:.2g}")
    return f"where the terms of the loss meet, others pull {typical:g} times as hard as the errors"


def faint_error(history: History) -> str:
    """Return what to say at the end of a run if one error hardly counted beside another.

    >>> history = History(least_pull=[0.001, 0.001, 0.002])
    >>> history.ended = True
    >>> faint_error(history)
    'where the errors of the loss meet, one of them has at most 0.2 % of the pull of all'
    """
    shares = [share for _, share in history.timed("least_pull", MANY)]
    if not history.ended or len(shares) < READINGS or not max(shares) < FAINT:
        return ""
    score = training_score(history, AFTER)
    if score is not None and score.gain >= WELL:
        return ""
    most = f"{100 * max(shares):.2g} %"
    return f"where the errors of the loss meet, one of them has at most {most} of the pull of all"
