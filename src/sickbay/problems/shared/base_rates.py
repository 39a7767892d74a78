"""What the frequencies of the answers alone are worth to a loss."""

from math import log, nan
from statistics import fmean

from sickbay.history import History

RECENT = 64  # losses whose mean counts
BETTER = 0.95  # of the loss of the base rate: below that, something about the samples is known
OF_CLASSES = 0.9  # the same with many classes, whose frequencies are known less well


def beats_base_rate(history: History) -> bool:
    """Return whether the loss is below that of the base rate, though the answers may be no better.

    Where a yes is rare or the signal is weak, the right answer is no for every sample, but some are
    likelier than others. So it is with many classes of which one is the most frequent.

    >>> from sickbay.vitals import Setup
    >>> setup = Setup(task="binary", loss="bce_logits", bare=True)
    >>> histories = [History(setup, loss=[each], constant_score=[0.7]) for each in (0.6, 0.5)]
    >>> [beats_base_rate(each) for each in histories]
    [False, True]
    """
    setup, losses = history.setup, history.recent("loss", RECENT)
    if not setup.bare or setup.summed or not losses:
        return False
    if setup.task in ("multiclass", "next_token"):
        entropy = history.latest("constant_entropy")
        return setup.loss == "cross_entropy" and fmean(losses) < OF_CLASSES * entropy
    share = history.latest("constant_score")
    if setup.task != "binary" or not 0 < share < 1:
        return False
    entropy = -share * log(share) - (1 - share) * log(1 - share)
    of_base = {"bce": entropy, "bce_logits": entropy, "mse": share * (1 - share)}
    return fmean(losses) < BETTER * of_base.get(setup.loss, nan)
