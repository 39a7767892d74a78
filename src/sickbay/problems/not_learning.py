from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.base_rates import beats_base_rate
from sickbay.problems.shared.learns_badly import loss_fall
from sickbay.problems.shared.planned_epochs import is_over
from sickbay.problems.shared.training_score import training_score

SURE = 3.0  # standard errors by which a model that learns slowly is above chance
SLOW = 10  # times `after` until which such a model is left alone
CHANCE = 2.0  # times the limit that the standard error of the gain may be


@dataclass(frozen=True, kw_only=True)
class NotLearning(Problem):
    """The model answers no better than a constant does, even on what it is trained on.

    Why it matters:
        Whatever the loss says, nothing useful has been learnt.

    How it is judged:
        On the batches read in the last third of the steps, the share of right answers (or of the
        variance explained) is compared with that of the best constant answer to the targets so far:
        the most frequent class, or the mean. The model gains less than `gain` of what a constant
        answer gets wrong, on so many samples that the standard error of the gain is at most twice
        that, and its loss has not fallen by `loss_drop`, nor below that of the frequencies of the
        answers. It counts from step `after` on if half of the planned epochs are over, and at the
        end of a run from step `least` on. If no epochs are planned, a model that is above chance by
        three standard errors has ten times as many steps.

    Example:
        >>> history = History(loss=500 * [2.3], score=500 * [0.12], constant_score=500 * [0.11])
        >>> print(NotLearning().check(history).message)
        scores 0.12 on its training batches, a constant answer 0.11 (limit 0.288)

    Reference:
        Karpathy (2019), A recipe for training neural networks, on input-independent baselines.
    """

    advice = "check that inputs and targets belong together, then the learning rate and the model"
    reads = ("batch", "epoch", "end")
    explains = ("underfitting",)

    gain: float = threshold(0.2, "Gain over a constant answer that is too small.", above=0)
    loss_drop: float = threshold(
        0.3, "A model whose loss fell by this share is left alone.", above=0
    )
    after: int = threshold(400, "Steps that are not judged.", least=0)
    least: int = threshold(40, "The same at the end of a run.", least=0)

    def check(self, history: History) -> Finding | None:
        early = history.step < self.after or not is_over(history, 0.5)
        if early and not history.ended:
            return None
        score = training_score(history, self.least)
        if score is None or score.gain >= self.gain or score.doubt > CHANCE * self.gain:
            return None
        hopes = history.setup.epochs is None and history.step < SLOW * self.after
        if hopes and not history.ended and score.gain > SURE * score.doubt:
            return None
        if loss_fall(history) > self.loss_drop or beats_base_rate(history):
            return None
        limit = score.constant + self.gain * (1 - score.constant)
        message = f"{score} (limit {limit:.3g})"
        return self.found(history, message, score=score.score, constant=score.constant)
