"""Longer than 60 lines: a loss can disagree with the targets or the outputs in many ways."""

from dataclasses import replace
from math import inf, isnan, nan

from sickbay.findings import Suggestion
from sickbay.problems.shared.base import Finding, History, Problem, dataclass
from sickbay.problems.shared.distances_of_classes import distance_of_classes
from sickbay.problems.shared.learns_badly import best_accuracy
from sickbay.problems.shared.loss_against_score import disagreement
from sickbay.problems.shared.loss_faults import loss_fault
from sickbay.problems.shared.observed_losses import observed_fault
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.uneven_terms import drowned_errors, faint_error
from sickbay.tasks import DISTANCES

NEVER_NEGATIVE = (
    "cross_entropy", "nll", "bce", "bce_logits", "mse", "l1", "smooth_l1", "huber", "kl_div",
    "soft_margin", "multi_margin",
)  # fmt: skip
FEW = 12  # whole numbers below this count as classes if all are about equally frequent
SKEW = 0.15  # of the largest: three standard errors of the mean of 32 equally frequent numbers
REVERSED = ("wrong sign", "lower for wrong answers")  # what is said of such a loss
TURN = Suggestion(
    words="remove the minus from the loss, or negate a score that should be high",
    code="loss = -loss",
)
SIGNED = ("soft_margin", "hinge_embedding", "hinge")


@dataclass(frozen=True, kw_only=True)
class ImproperLoss(Problem):
    """The loss does not fit the targets: a small loss does not mean that the model is right.

    Why it matters:
        Training minimises the loss, whether or not that makes sense.

    How it is judged:
        One of these is found:

        - a loss that pulls the outputs away from the targets, grows with how alike they are, is 0
          from the first step on, gives neither outputs nor weights any gradient, is below its lower
          bound, or falls far below 0 without slowing down;
        - a loss that for 100 steps pulls the answers of a critic to a generator's samples as the
          critic's own loss does;
        - weights that are larger for the more frequent classes, or classes that a view has mixed;
        - cross-entropy over one unit, on targets that are not classes, or on several labels at
          once; log-likelihood of values that are not logarithms; a soft margin loss without labels
          of -1; an L1 loss on one-hot classes; a distance to class numbers;
        - squared error on softmax or sigmoid outputs of classes that are still guessed after 70
          steps or two epochs;
        - a loss that falls far while the share of right answers stays that of a constant, or that
          rises steadily while the accuracy rises;
        - terms that compare nothing with targets and, where the terms of the loss meet, pull 4
          times as hard as those that do if little is learnt after 70 steps, or 25 times at the end
          of a run that has not solved its task. They must do so in the first readings and in the
          newest one.

        At the end of a run that has not solved its task, any distance between classes is worth a
        remark, and so is an error that never had 1 % of the pull of all.

        `fit` also calls a loss that is not torch's own with right and wrong answers. It finds one
        that is lower for wrong answers, has no lower bound, gives outputs no gradient, compares
        averages over the batch, has its softmax over the samples, or is not finite because it takes
        the logarithm of 0.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(loss="nll", output="linear"), loss=[-0.1])
        >>> print(ImproperLoss().check(history).message)
        nll expects log-probabilities, but gets linear outputs

    Reference:
        Zhang et al. (2021), AutoTrainer; its own rule is `published.autotrainer.ImproperLoss`.
    """

    severity = "critical"
    advice = "use cross-entropy for classes, BCE with logits for yes or no, MSE or L1 for numbers"
    reads = ("batch", "step", "epoch", "end")
    explains = ("non_finite", *EVERYTHING)

    def check(self, history: History) -> Finding | None:
        message = loss_fault(history) or observed_fault(history)
        if not message and history.setup.loss:
            message = self._mismatch(history)
        if message:
            reversed_ = any(each in message for each in REVERSED)
            return replace(self.found(history, message), suggestions=(TURN,) if reversed_ else ())
        if message := drowned_errors(history) or disagreement(history):
            return replace(self.found(history, message), severity="warning")
        message = faint_error(history) or distance_of_classes(history)
        return replace(self.found(history, message), severity="info") if message else None

    def stands_alone(self, finding: Finding) -> bool:
        apart = ("terms of the loss", "weights of classes")
        return finding.severity == "info" or any(each in finding.message for each in apart)

    def _mismatch(self, history: History) -> str:
        setup = history.setup
        loss, output, one = setup.loss, setup.output, setup.output_shape[-1:] == (1,)
        if loss == "cross_entropy" and one and len(setup.output_shape) > 1:
            return "cross_entropy over a single unit is always 0"
        if loss == "cross_entropy" and setup.task == "regression":
            return "cross_entropy needs classes or probabilities, but the targets are neither"
        rows = len(setup.output_shape) == 2 and setup.task == "multilabel"
        if loss == "cross_entropy" and rows and history.best("tags") > 1:
            return "cross_entropy shares 1 among labels, of which several hold at once"
        if loss == "nll" and output not in ("", "log_softmax", "log_sigmoid", "log"):
            return f"nll expects log-probabilities, but gets {output} outputs"
        if loss == "l1" and setup.task == "multiclass":
            return "l1 on one-hot classes is lowest if every output is 0"
        target = history.batch("target")
        low, high = target.get("minimum", nan), target.get("maximum", nan)
        signs = {low, high} <= {-1, 1} and setup.labels in (1, 2)
        if loss in SIGNED and not signs and not isnan(low):
            return f"{loss} needs labels -1 and 1, but targets range from {low:.3g} to {high:.3g}"
        if loss == "poisson_nll" and low < -1e-3:
            return f"poisson_nll needs counts, but targets range from {low:.3g} to {high:.3g}"
        if loss in (*DISTANCES, "poisson_nll") and self._are_indices(history):
            return f"{loss} treats the numbers of {setup.labels} classes as quantities"
        least = min(history.recent("loss", 3), default=0.0)
        if -inf < least < -1e-6 and loss in NEVER_NEGATIVE and setup.bare:
            return f"the loss is {least:.3g}, but {loss} cannot be negative if its inputs are right"
        return ""

    def _are_indices(self, history: History) -> bool:
        """Return whether targets are class numbers: 0, 1, 2 and so on, all about equally frequent.

        Counts and grades are whole numbers too, but small counts are the most frequent, and grades
        start at 1. If an accuracy is given, the targets are classes in any case.
        """
        setup, target = history.setup, history.batch("target")
        if setup.task != "regression" or setup.labels < 3 or target.get("minimum") != 0:
            return False
        most = target["maximum"]
        evenly = most * (most + 2) / 12  # variance of equally frequent numbers
        skewed = abs(target["mean"] - most / 2) > SKEW * most
        even = target["variance"] > 0.7 * evenly and not skewed
        even &= 0.8 * most < setup.labels <= most + 1  # counts of other batches are higher
        return (even and most < FEW) or (best_accuracy(history) > -inf and most < 100)
