"""Longer than 60 lines: what is narrow has to be told from the shapes of kernels alone."""

from dataclasses import replace
from itertools import pairwise

from sickbay.history import EMBEDDINGS
from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.learns_badly import loss_fall
from sickbay.problems.shared.training_score import training_score
from sickbay.vitals import layer_of

GATES = {"LSTM": 4, "GRU": 3}  # blocks of units in a kernel
CONTAINERS = ("Module", "Sequential", "ParameterList", "ParameterDict")  # no kernel of a layer
NOTHING = 0.05  # gain of a model that has learnt nothing, for which there may be other causes
MOST = 10  # layers of a model in which a narrow one is hardly a gate beside a wider path


@dataclass(frozen=True, kw_only=True)
class NetworkTooSmall(Problem):
    """A hidden layer is so narrow that the model cannot fit its own training data.

    Why it matters:
        Everything the model knows about a sample has to pass through those few units.

    How it is judged:
        A hidden layer has at most `units` units, fewer than it is fed, and the next layer is fed by
        it. Models of more than ten layers have narrow gates by design. At the end of a run, the
        model gains less than `gain` over a constant answer on its training batches. If that is not
        known, the severity is `info`, and the loss has fallen by less than `loss_drop`. So it is if
        there are as many targets as inputs and two units or more, as an autoencoder is to be
        narrow, or if the model has learnt nothing, which may have other causes.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(shapes={"0.weight": (2, 64), "2.weight": (10, 2)})
        >>> history = History(setup, score=100 * [0.6], constant_score=100 * [0.1])
        >>> history.ended = True
        >>> print(NetworkTooSmall().check(history).message)
        2 hidden units (limit 4), scores 0.6 on its training batches, a constant answer 0.1

    Reference:
        Humbatova et al. (2020), Taxonomy of real faults in deep learning systems, on layers that
        are too small.
    """

    advice = "use at least 32 units in hidden layers"
    reads = ("end", "epoch")
    explains = ("underfitting", "not_learning")

    units: int = threshold(4, "Hidden units that are too few.", least=1)
    gain: float = threshold(0.85, "Gain of a model that is large enough.", above=0)
    after: int = threshold(40, "Steps that a run must have.", least=0)
    loss_drop: float = threshold(
        0.5, "If that is not known: a model whose loss fell by this share is left alone.", above=0
    )

    def check(self, history: History) -> Finding | None:
        score = training_score(history, self.after)
        if not history.ended or (score is not None and not score.gain < self.gain):
            return None
        narrow = {name: width for name, width in widths(history).items() if width <= self.units}
        if not narrow:
            return None
        least, layers = min(narrow.values()), tuple(narrow)
        what = f"{least} hidden {'unit' if least == 1 else 'units'} (limit {self.units})"
        if score is None:
            return self._by_loss(history, what, layers)
        message = f"{what}, {score}"
        found = self.found(history, message, layers=layers, units=least, score=score.score)
        by_design = least > 1 and rebuilds_inputs(history)
        return replace(found, severity="info") if by_design or score.gain < NOTHING else found

    def _by_loss(self, history: History, what: str, layers: tuple[str, ...]) -> Finding | None:
        fell = loss_fall(history)
        if history.step < self.after or not fell < self.loss_drop:
            return None
        message = f"{what}, and the loss has fallen by {100 * max(0.0, fell):.2g} %"
        return replace(self.found(history, message, layers=layers, fell=fell), severity="info")


def rebuilds_inputs(history: History) -> bool:
    """Return whether targets are as many as inputs, as those of an autoencoder."""
    given, wanted = history.batch("input"), history.batch("target")
    return bool(given) and bool(wanted) and given["count"] == wanted["count"]


def widths(history: History) -> dict[str, int]:
    """Return the number of units of every layer that narrows what it is fed, and feeds the next.

    >>> from sickbay.vitals import Setup
    >>> shapes = {"0.weight": (8, 64), "1.weight": (64, 8), "2.weight": (10, 64)}
    >>> widths(History(Setup(shapes=shapes)))
    {'0': 8}
    >>> widths(History(Setup(shapes={"value.weight": (1, 64), "policy.weight": (4, 64)})))
    {}
    """
    layers = history.setup.layers
    kernels = {
        name: shape
        for name, shape in history.setup.shapes.items()
        if len(shape) > 1
        and "_hh_" not in name
        and layers.get(layer_of(name)) not in (*EMBEDDINGS, *CONTAINERS)
    }
    found = {}
    for (name, shape), (_, after) in pairwise(kernels.items()):
        units = shape[0] // GATES.get(layers.get(layer_of(name), ""), 1)
        flattened = len(shape) > len(after) and after[1] % units == 0
        if units < max(shape[1], 3) and (flattened or after[1] in (units, 2 * units)):
            found[layer_of(name)] = units
    return found if len(kernels) <= MOST else {}
