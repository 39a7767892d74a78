from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import NO_PROGRESS, SLOW
from sickbay.tasks import APPLIES


@dataclass(frozen=True, kw_only=True)
class DoubleActivation(Problem):
    """The loss applies softmax or sigmoid itself, but the outputs have already been through one.

    Why it matters:
        Outputs that are squeezed twice can never become certain, so the loss stays high and its
        gradient small.

    How it is judged:
        The autograd graph of the loss shows softmax or sigmoid, as a module or a function, right
        before cross-entropy or BCE with logits, or before the log-softmax of a policy. A
        log-softmax before cross-entropy is harmless, and a softmax over the samples is an improper
        output.
        `fit` also calls a loss that is not torch's own: if it takes any number, and outputs behind
        softmax or sigmoid let it fall less than `reach` of the way to its least value, it counts.

    Example:
        >>> from sickbay.vitals import Setup
        >>> history = History(Setup(loss="cross_entropy", output="softmax"), loss=[2.3])
        >>> print(DoubleActivation().check(history).message)
        softmax before cross_entropy, which applies softmax itself

    Reference:
        Zhang et al. (2021), AutoTrainer: an automatic DNN training problem detection and repair
        system, on improper activations; how PyTorch's losses take logits.
    """

    severity = "critical"
    advice = "remove the last activation: the loss takes the raw outputs (logits)"
    reads = ("batch",)
    explains = ("improper_output", *SLOW, *NO_PROGRESS)

    reach: float = threshold(
        0.75,
        "Share of its fall that the outputs must allow a loss of the user's own.",
        least=0,
        most=1,
    )

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        loss, output = setup.loss, setup.output
        if setup.squeezed and loss not in APPLIES and not setup.mixes_samples:
            message = f"{setup.squeezed} before a log-softmax, as if the outputs were logits"
            return self.found(history, message)
        if output not in ("softmax", "sigmoid") or setup.mixes_samples:
            return None
        if loss in APPLIES:
            message = f"{output} before {loss}, which applies {APPLIES[loss]} itself"
            return self.found(history, message)
        if setup.reach >= self.reach:
            return None
        message = (
            f"{output} before a loss that takes any number; it can fall only {setup.reach:.0%}"
        )
        return self.found(history, f"{message} of the way", reach=setup.reach)
