from sickbay.problems.shared.base import Finding, History, Problem, dataclass
from sickbay.problems.shared.problem_groups import JUMPS, NO_PROGRESS, RATES

READINGS = 3  # of batches with both answers


@dataclass(frozen=True, kw_only=True)
class ShapeBroadcast(Problem):
    """Outputs and targets have different shapes, and the loss broadcasts them.

    Why it matters:
        Every output is compared with every target of the batch, so the model learns their mean. Or
        two outputs, meant for no and yes, are compared with one target, and both learn the same.

    How it is judged:
        The shapes that a loss module receives differ, or the autograd graph of the loss shows that
        the outputs were expanded. Or in each of three readings, all samples have the same yes or
        no for each of two outputs.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(loss="mse", output_shape=(32, 1), target_shape=(32,), stretched=True)
        >>> print(ShapeBroadcast().check(History(setup, loss=[1.0])).message)
        mse compares outputs (32, 1) with targets (32,), broadcast to fit each other

    Reference:
        PyTorch documentation, broadcasting semantics.
    """

    severity = "critical"
    advice = "give both the same shape: outputs.squeeze(1), or targets.unsqueeze(1)"
    reads = ("batch",)
    explains = ("improper_loss", *JUMPS, *RATES, *NO_PROGRESS)

    def check(self, history: History) -> Finding | None:
        setup = history.setup
        twins = history.recent("twins", READINGS)
        if len(twins) == READINGS and min(twins) == 1:
            return self.found(history, "two outputs of each sample are compared with one target")
        if not setup.stretched:
            return None
        loss, shape = setup.loss or "the loss", setup.target_shape
        if shape in ((), setup.output_shape):
            message = f"{loss} compares outputs with targets of another shape"
        else:
            message = f"{loss} compares outputs {setup.output_shape} with targets {shape}"
        return self.found(history, f"{message}, broadcast to fit each other")
