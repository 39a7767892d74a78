"""Longer than 60 lines: weights can start too large, all the same, or shut."""

from itertools import pairwise
from math import prod, sqrt

from sickbay.problems.shared.base import Finding, History, Problem, dataclass, threshold
from sickbay.problems.shared.problem_groups import EVERYTHING
from sickbay.problems.shared.shut_units import BELOW, shut_biases
from sickbay.vitals import MIXING, Setup, Table, layer_of, rms

OWN = "Module"  # the class of a layer that is not torch's
FIRST = 2  # the last step at which weights may still be about what they were at the start
TRAINED = 0.5  # of what a constant answer gets wrong, that first weights never get right
MOVED = 0.1  # relative size of a step after which they no longer are


@dataclass(frozen=True, kw_only=True)
class ImproperInitialisation(Problem):
    """The first weights are far too large, all the same, or shut the units behind them.

    Why it matters:
        Weights that are too large saturate units and drown the inputs. Units that start alike stay
        alike. A ReLU behind a large negative bias lets nothing through.

    How it is judged:
        At the first reading, the root mean square of a kernel times the root of its inputs is above
        `gain` in a linear layer or a convolution that no normalisation follows; torch starts at
        0.58, and 1.4 is usual before a ReLU. Among matrices in classes of the user's own, those
        count whose inputs are as many as the outputs of the one before. Or the kernel of the first
        of several layers holds only one value. Or there are several embeddings, and all hold only
        0. Or all biases before a ReLU are more than `bias` below 0.

    Example:
        >>> from sickbay.vitals import Setup
        >>> setup = Setup(layers={"a": "Linear"}, shapes={"a.weight": (8, 100)})
        >>> history = History(setup)
        >>> history.add_table("weight", {"a.weight": {"norm": 28.3, "count": 800}})
        >>> print(ImproperInitialisation().check(history).message)
        weights start 10 times as large as sums of 100 inputs need (limit 4)

    Reference:
        He et al. (2015), Delving deep into rectifiers, section 2.2.
    """

    advice = "keep torch's own initial weights, or use kaiming_normal_ and biases of 0"
    reads = ("weight",)
    explains = ("non_finite", *EVERYTHING)

    gain: float = threshold(4.0, "Root mean square times the root of the inputs.", above=0)
    bias: float = threshold(BELOW, "How far below 0 biases before a ReLU may start.", above=0)

    def check(self, history: History) -> Finding | None:
        tables = history.tables("weight", 2)
        if len(tables) != 1 or not self._are_first(weights := tables[0]):
            return None
        kernels = [
            name
            for name in weights.names
            if history.setup.layers.get(layer_of(name)) in MIXING
            and len(history.setup.shapes.get(name, ())) > 1
        ]
        return (
            self._alike(history, weights, kernels)
            or self._large(history, weights, kernels)
            or self._shut(history, weights)
        )

    def stands_alone(self, _finding: Finding) -> bool:
        return True

    def _are_first(self, weights: Table) -> bool:
        moved = weights.step > 0 and (weights.column("update_ratio") > MOVED).any()
        return weights.step <= FIRST and not moved

    def _alike(self, history: History, weights: Table, kernels: list[str]) -> Finding | None:
        if empty := empty_embeddings(history.setup, weights):
            message = f"all weights of {len(empty)} embeddings start at 0"
            return self.found(history, message, layers=tuple(map(layer_of, empty)))
        if len(kernels) < 2 or history.setup.shapes[kernels[0]][0] < 2:
            return None
        row = weights.row(kernels[0])
        if row["minimum"] != row["maximum"]:
            return None
        message = f"all weights of the first layer start at {row['minimum']:.3g}"
        return self.found(history, message, layers=(layer_of(kernels[0]),))

    def _large(self, history: History, weights: Table, kernels: list[str]) -> Finding | None:
        fed = {name: prod(history.setup.shapes[name][1:]) for name in kernels}
        fed |= own_inputs(history.setup, weights)
        gains = {name: rms(weights.row(name)) * sqrt(count) for name, count in fed.items()}
        large = [name for name, gain in gains.items() if gain > self.gain]
        large = [name for name in large if "Norm" not in history.setup.follower(name)]
        if not large or is_trained(history):
            return None
        worst = max(large, key=lambda name: gains[name])
        message = f"weights start {gains[worst]:.3g} times as large as sums of"
        message += f" {fed[worst]} inputs need (limit {self.gain:g})"
        layers = tuple(map(layer_of, large))
        return self.found(history, message, layers=layers, gain=gains[worst])

    def _shut(self, history: History, weights: Table) -> Finding | None:
        shut = shut_biases(history.setup, weights, self.bias)
        if not shut:
            return None
        message = f"all biases before a ReLU start at {next(iter(shut.values())):.3g} or below"
        message += f" (limit {-self.bias:g})"
        return self.found(history, message, layers=tuple(map(layer_of, shut)))


def is_trained(history: History) -> bool:
    """Return whether the first answers are better than first weights can be, as in a resumed run.

    >>> [is_trained(History(score=[score], constant_score=[0.1])) for score in (0.3, 0.9)]
    [False, True]
    """
    score, constant = history.first("score"), history.first("constant_score")
    return score - constant > TRAINED * (1 - constant)


def own_inputs(setup: Setup, weights: Table) -> dict[str, int]:
    """Return the inputs of each matrix that follows another one in classes of the user's own.

    Matrices are written with the inputs first or last, which shows in how they fit each other.

    >>> shapes = {"w1": (9, 64), "w2": (64, 5)}
    >>> setup = Setup(layers={"": "Module"}, shapes=shapes)
    >>> own_inputs(setup, Table.of("weight", 0, {"w1": {}, "w2": {}}))
    {'w2': 64}
    """
    own = [
        name
        for name in weights.names
        if setup.layers.get(layer_of(name)) == OWN and len(setup.shapes.get(name, ())) == 2
    ]
    inputs = {}
    for before, name in pairwise(own):
        (first, last), (rows, columns) = setup.shapes[before], setup.shapes[name]
        if rows != columns and last == rows:
            inputs[name] = rows
        elif rows != columns and first == columns:
            inputs[name] = columns
    return inputs


def empty_embeddings(setup: Setup, weights: Table) -> list[str]:
    """Return the embeddings if there are several and all are 0, as two that are multiplied stay."""
    tables = [name for name in weights.names if setup.layers.get(layer_of(name)) == "Embedding"]
    wide = [name for name in tables if prod(setup.shapes.get(name, ())[1:]) > 1]
    empty = all(weights.row(name)["absmax"] == 0 for name in wide)
    return wide if empty and len(wide) > 1 else []
