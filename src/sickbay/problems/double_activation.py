from sickbay.problems.shared.base import Finding, History, Problem, dataclass
from sickbay.problems.shared.problem_groups import NO_PROGRESS, RATES
from sickbay.tasks import APPLIES


@dataclass(frozen=True, kw_only=True)
class DoubleActivation(Problem):
    """The loss applies softmax or sigmoid itself, but the outputs have already been through one.

    Why it matters:
        Outputs that are squeezed twice can never become certain, so the loss stays high and its
        gradient small.

    How it is judged:
        The autograd graph of the loss shows softmax or sigmoid, as a module or a function, right
        before cross-entropy or BCE with logits. A log-softmax before cross-entropy is harmless.

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
    explains = ("improper_output", *RATES, *NO_PROGRESS)

    def check(self, history: History) -> Finding | None:
        loss, output = history.setup.loss, history.setup.output
        if loss not in APPLIES or output not in ("softmax", "sigmoid"):
            return None
        message = f"{output} before {loss}, which applies {APPLIES[loss]} itself"
        return self.found(history, message)
