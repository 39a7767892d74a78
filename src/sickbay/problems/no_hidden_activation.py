from dataclasses import replace
from math import isfinite

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import GRADIENTS, NO_PROGRESS, RATES
from sickbay.problems.shared.training_score import training_score


@dataclass(frozen=True, kw_only=True)
class NoHiddenActivation(Problem):
    """The layers follow each other without an activation between them.

    Why it matters:
        Linear layers in a row are one linear layer: however many there are, the model can only
        draw a straight line between classes.

    How it is judged:
        The autograd graph of the outputs has two or more kernels in a row and nothing but linear
        operations before the last activation. From step `after` on, the model gains less than
        `gain` over a constant answer on its training batches. If the loss is not finite at the end
        of the run, so that no gain is known, the severity is `info`.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(linear=True, shapes={"0.weight": (8, 2), "1.weight": (2, 8)})
        >>> history = History(setup, score=200 * [0.5], constant_score=200 * [0.5])
        >>> print(NoHiddenActivation().check(history).message)
        no activation between 2 layers, scores 0.5 on its training batches, a constant answer 0.5

    Reference:
        Humbatova et al. (2020), Taxonomy of real faults in deep learning systems, on missing
        activation functions.
    """

    advice = "put a ReLU after every hidden layer"
    reads = ("batch", "end")
    explains = ("unchanged_weights", "network_too_small", *GRADIENTS, *RATES, *NO_PROGRESS)

    gain: float = threshold(0.7, "Gain of a model that learns well.", above=0)
    after: int = threshold(100, "Steps to wait for that.", least=0)

    def check(self, history: History) -> Finding | None:
        kernels = [shape for shape in history.setup.shapes.values() if len(shape) > 1]
        if not history.setup.linear or len(kernels) < 2:
            return None
        what = f"no activation between {len(kernels)} layers"
        score = training_score(history, self.after)
        if score is None and history.ended and not isfinite(history.latest("loss")):
            found = self.found(history, f"{what}, and the loss is {history.latest('loss'):g}")
            return replace(found, severity="info")
        if score is None or not score.gain < self.gain:
            return None
        message = f"{what}, {score}"
        return self.found(history, message, score=score.score, constant=score.constant)
