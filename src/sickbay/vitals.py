"""One reading of a run, in plain numbers, so that judging it needs no torch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sickbay.json_dataclasses import dataclass_from_json

Kind = Literal["gradient", "raw_gradient", "weight", "activation", "batch"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Numbers: TypeAlias = NDArray[np.float64]

STATISTICS = {
    "count": "elements measured",
    "norm": "l2 norm",
    "absmax": "largest absolute value",
    "mean": "mean",
    "variance": "population variance",
    "minimum": "smallest value",
    "lower_quartile": "25 % quantile",
    "median": "50 % quantile",
    "upper_quartile": "75 % quantile",
    "maximum": "largest value",
    "skewness": "third standardised moment",
    "kurtosis": "fourth standardised moment, minus 3",
    "zeros": "share of exact zeros",
    "nonfinite": "count of NaN and Inf; the other statistics leave them out",
    "dead_units": (
        "activations: share of units that were zero for the whole batch; gradients: share of units "
        "whose gradient is zero"
    ),
    "update_ratio": "weights: norm of the last update over the norm of the weight",
    "mean_abs": "mean absolute value",
    "lasting_dead": "activations: share of units that were zero in the last 3 readings",
}
COLUMN = {name: index for index, name in enumerate(STATISTICS)}


@dataclass(frozen=True)
class Table:
    """Statistics of many tensors at one step, a row each, in forward order.

    Rows are named after parameters (`encoder.0.weight`) for gradients and weights, after modules
    (`encoder.0`) for activations, and `input`, `output` and `target` for the batch. Statistics that
    were not measured are NaN.
    """

    kind: Kind
    step: int
    names: tuple[str, ...]
    values: Numbers

    @classmethod
    def of(cls, kind: Kind, step: int, rows: Mapping[str, Mapping[str, float]]) -> "Table":
        """Make a table from plain numbers.

        >>> table = Table.of("gradient", 0, {"a.weight": {"norm": 2.0}, "b.weight": {"norm": 1.0}})
        >>> table.column("norm").tolist(), table.layers
        ([2.0, 1.0], ('a', 'b'))
        """
        values = np.full((len(rows), len(STATISTICS)), np.nan)
        for index, row in enumerate(rows.values()):
            for statistic, value in row.items():
                values[index, COLUMN[statistic]] = value
        return cls(kind, step, tuple(rows), values)

    @classmethod
    def ordered(
        cls, kind: Kind, step: int, rows: Mapping[str, Numbers], order: Iterable[str]
    ) -> "Table":
        """Make a table of rows of statistics, in the order of these names."""
        names = tuple(name for name in order if name in rows)
        return cls(kind, step, names, np.stack([rows[name] for name in names]))

    def column(self, statistic: str) -> Numbers:
        """Return one statistic of every row."""
        return self.values[:, COLUMN[statistic]]

    def row(self, name: str) -> dict[str, float]:
        """Return every statistic of one row."""
        values = self.values[self.names.index(name)].tolist()
        return dict(zip(STATISTICS, values, strict=True))

    @cached_property
    def is_finite(self) -> bool:
        """Whether no row holds a NaN or an Inf."""
        return not (self.column("nonfinite") > 0).any()

    @property
    def layers(self) -> tuple[str, ...]:
        """The module each row belongs to, as in `named_modules`."""
        return tuple(map(self.layer, self.names))

    def layer(self, name: str) -> str:
        """Return the module that the row called `name` belongs to."""
        return name if self.kind in ("activation", "batch") else layer_of(name)


def layer_of(parameter: str) -> str:
    """Return the name of the module that a parameter belongs to."""
    return parameter.rpartition(".")[0]


def rms(row: Mapping[str, float]) -> float:
    """Return the root mean square of the values of a row, 0 if unknown."""
    count = row.get("count", 0)
    return float(row["norm"] / count**0.5) if count > 0 else 0.0


@dataclass  # not frozen, which would triple the cost of creating one at every step
class Vitals:
    """One reading: the scalars and the tables of a step."""

    step: int
    epoch: int = 0
    time: float = 0.0
    scalars: Mapping[str, float] = field(default_factory=dict)
    tables: Sequence[Table] = ()


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What does not change during a run. Unknown values are "", () or 0.

    Attributes:
        layers: Class of every module that computes something, by its name, in forward order; of a
            user's class, the nearest class in `torch.nn` that it inherits from.
        shapes: Shape of every trainable parameter, by its name, in forward order.
        optimizer: Class name of the watched optimizer.
        epochs: Planned epochs, if known.
        unheld: Trainable parameters that no watched optimizer holds.
        uncalled: Modules with parameters that the forward pass does not call.
        loss: Name of the loss (`cross_entropy`, `bce_logits`, `mse`, ...).
        output: The activation before the loss (`linear`, `softmax`, ...).
        task: `binary`, `multiclass`, `multilabel`, `regression` or `next_token`.
        output_shape: Shape of the outputs that are compared with the targets.
        target_shape: Shape of the targets.
        stretched: Whether outputs and targets were broadcast to fit each other.
        bare: Whether the loss has no weights or other terms around it.
        strays: Number of layers that the model uses but does not register, as in a plain list.
        labels: Number of distinct whole numbers among the targets.
    """

    layers: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    optimizer: str = ""
    epochs: int | None = None
    unheld: tuple[str, ...] = ()
    uncalled: tuple[str, ...] = ()
    loss: str = ""
    output: str = ""
    task: str = ""
    output_shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    stretched: bool = False
    bare: bool = False
    strays: int = 0
    labels: int = 0

    @classmethod
    def of(cls, fields: object) -> "Setup":
        """Make a setup from JSON, where tuples are lists. Raise `UsageError` if it is none."""
        return dataclass_from_json(cls, fields)
