"""What is wrong with a loss, by what it does to the outputs in the loop."""

from math import isfinite, log2

from sickbay.history import History
from sickbay.problems.shared.learns_badly import loss_fall
from sickbay.problems.shared.runaway_loss import runs_away
from sickbay.problems.shared.training_score import gains_less
from sickbay.tasks import DISTANCES

AGREEING, APART = 6, 100  # readings in which a critic agrees with its generator, and their steps
WINDOW = 128  # of these readings
READINGS, FIRST = 3, 5  # readings that must show it, and steps whose loss must be 0
ALIKE, WIDE = 4, 3  # readings in which gradients must be the same, and outputs of a sample
DIFFER = 1e-3  # spread of outputs that belong apart
LOGARITHMS = "poisson_nll"  # a loss of logarithms, which may be above and yet below the targets
AWAY = -0.2  # cosine between where the loss pulls the outputs and where the targets are
STEEP = 0.5  # power of its frequency by which a class may be weighted
CERTAIN = 16.0  # a logit whose sigmoid rounds to 1
FELL = 0.05  # share of the first loss, as when the base rate of yes is learnt
AFTER, GAIN = 70, 0.1  # steps after which a model should gain more than this over a constant answer


def observed_fault(history: History) -> str:
    """Return what is wrong with the loss, "" if nothing is.

    >>> from sickbay.vitals import Setup
    >>> observed_fault(History(Setup(loss="mse"), pull=[-1.0, -1.0, -1.0]))
    'the loss pulls the outputs away from the targets, as with the wrong sign'
    """
    setup = history.setup
    pulls = history.recent("pull", READINGS)
    away = len(pulls) == READINGS and all(pull < AWAY for pull in pulls)
    if away and setup.loss not in ("", LOGARITHMS) and not setup.stretched:
        return "the loss pulls the outputs away from the targets, as with the wrong sign"
    if _has_accomplice(history):
        return (
            "the loss pulls the critic's answers to made samples the same way as the critic's own"
        )
    differ = min(history.recent("output_spread", ALIKE), default=0.0) > DIFFER
    if differ and not setup.passed_on and _pulls_alike(history, "pull_spread"):
        return "the loss compares averages over the batch, not each output with its own target"
    alike = setup.averages_errors and _pulls_alike(history, "pull_spread_within")
    if alike and setup.output_shape[-1] >= WIDE:
        return "the loss compares averages over the outputs of a sample, not each with its target"
    if setup.viewed_apart:
        return f"outputs {setup.output_shape} reach the loss by a view that mixes their classes"
    if setup.over_positions:
        return f"the loss takes dimension 1 of outputs {setup.output_shape} for the classes"
    slopes = history.recent("weight_slope", READINGS)
    if len(slopes) == READINGS and min(slopes) > STEEP:
        return "the weights of classes are larger the more frequent the class is"
    losses = history.recent("loss", FIRST)
    probabilities = setup.output in ("sigmoid", "softmax")
    output = history.batch("output")
    certain = bool(output) and (output["minimum"] == 0 or output["maximum"] == 1)
    if probabilities and not setup.loss and certain and losses and not isfinite(losses[-1]):
        return "the loss is not finite where an output is 0 or 1: it takes the logarithm of 0"
    if not setup.passed_on and runs_away(history):
        return f"the loss falls without end, to {losses[-1]:.3g} so far, as with the wrong sign"
    if len(losses) == FIRST == history.step + 1 and not any(losses):
        return "the loss is 0 from the first step on"
    if _pulls_nothing(history):
        return "the loss gives the outputs no gradient, as after argmax, round or detach"
    # A weak signal moves no answer to yes or no from the more frequent one, and yet it is learnt.
    if (
        (setup.task == "multiclass" or (setup.task == "binary" and not loss_fall(history) > FELL))
        and probabilities
        and setup.loss in DISTANCES
        and gains_less(history, GAIN, AFTER)
    ):
        what = f"{setup.loss} of {setup.output} outputs"
        return f"{what} has hardly any gradient where the model is wrong"
    return ""


def _has_accomplice(history: History) -> bool:
    """Return whether a generator and its critic always wanted the same.

    Squared errors may do so in the first steps, while all answers are on the same side of 0.
    """
    agree = history.timed("critic_agrees", WINDOW)
    wanted = len(agree) >= AGREEING and all(value for _, value in agree)
    return wanted and agree[-1][0] - agree[0][0] >= APART


def _pulls_nothing(history: History) -> bool:
    """Return whether neither outputs nor weights ever had a gradient, though there is a loss.

    Outputs so large that a sigmoid is certain of all of them get none either.
    """
    sizes, losses = history.recent("pull_size", READINGS), history.recent("loss", READINGS)
    silent = len(sizes) == READINGS and history.best("pull_size") == 0
    output = history.batch("output")
    moderate = bool(output) and max(-output["minimum"], output["maximum"]) < CERTAIN
    return silent and moderate and history.best("grad_norm") == 0 and all(losses)


def _pulls_alike(history: History, name: str) -> bool:
    """Return whether outputs that belong apart get the same gradient, another one at each step.

    A loss that is linear in the outputs gives all of them the same gradient at every step, times
    the power of 2 of a gradient scaler.
    """
    spreads, sizes = history.recent(name, ALIKE), history.recent("pull_size", ALIKE)
    if len(spreads) < ALIKE or not all(spread < 1e-4 for spread in spreads) or not min(sizes) > 0:
        return False
    doublings = [log2(size / sizes[0]) for size in sizes]
    return any(abs(each - round(each)) > log2(1.01) for each in doublings)
