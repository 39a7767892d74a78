from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import JUMPS
from sickbay.problems.shared.small_batches import batch_size


@dataclass(frozen=True, kw_only=True)
class UnshuffledData(Problem):
    """The samples come in the order of their classes.

    Why it matters:
        For many steps, the model sees a single class. It learns to answer with that class, and
        forgets the others.

    How it is judged:
        Batches hold at least `samples` samples. In most of the last `checks` readings, all labels
        of a batch are the same, though the most frequent class makes up less than `share` of all
        labels so far.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(task="multiclass", output_shape=(32, 4))
        >>> history = History(setup, purity=10 * [1.0], constant_score=10 * [0.4])
        >>> print(UnshuffledData().check(history).message)
        10 of the last 10 batches read hold one class only; of all labels, 40 % are the same

    Reference:
        Bengio (2012), Practical recommendations for gradient-based training, on shuffled samples.
    """

    severity = "critical"
    advice = "shuffle the samples in every epoch: DataLoader(..., shuffle=True)"
    reads = ("batch",)
    explains = ("not_learning", "constant_prediction", "learning_rate_too_high", *JUMPS)

    samples: int = threshold(8, "Samples that a batch must have.", least=2)
    checks: int = threshold(10, "Readings that are judged together.", least=2)
    share: float = threshold(
        0.8, "Share of the most frequent class that is too large.", above=0, most=1
    )

    def check(self, history: History) -> Finding | None:
        purities = history.recent("purity", self.checks)
        share = history.latest("constant_score")
        if len(purities) < self.checks or not share < self.share:
            return None
        if (batch_size(history.setup) or 0) < self.samples:
            return None
        pure = sum(purity == 1 for purity in purities)
        if 2 * pure <= len(purities):
            return None
        message = f"{pure} of the last {len(purities)} batches read hold one class only"
        message += f"; of all labels, {100 * share:.0f} % are the same"
        return self.found(history, message, pure=pure, share=share)
