from sickbay.problems.shared.base import Finding, History, Problem, dataclass
from sickbay.problems.shared.problem_groups import JUMPS, NO_PROGRESS, RATES


@dataclass(frozen=True, kw_only=True)
class MixedSamples(Problem):
    """The model mixes the samples of a batch.

    Why it matters:
        The answer to a sample is made of parts of other samples, so it cannot fit its target. It
        also changes with the samples that happen to be in the same batch.

    How it is judged:
        A few samples run through a copy of the model in evaluation mode, in two orders. The answers
        must come in the same order as the samples, and stay the same; those of statistics of the
        batch and of attention among samples do. Or all attention runs over the samples, as without
        `batch_first`. A model whose second dimension may have the samples is left alone.

    Example:
        >>> from sickbay.vitals import Setup
        >>> print(MixedSamples().check(History(Setup(mixed=True), loss=[1.0])).message)
        the answer to a sample depends on where it stands in the batch

    Reference:
        Karpathy (2019), A recipe for training neural networks, on `view` in place of `transpose`.
    """

    severity = "critical"
    advice = "look for batch_first, for view or reshape in place of transpose, and for wrong dims"
    reads = ("batch",)
    explains = ("improper_loss", *JUMPS, *RATES, *NO_PROGRESS)

    def check(self, history: History) -> Finding | None:
        if not history.setup.mixed:
            return None
        return self.found(history, "the answer to a sample depends on where it stands in the batch")
