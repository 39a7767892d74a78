"""One reading of a run, in plain numbers, so that judging it needs no torch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

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
MIXING = ("Linear", "Conv1d", "Conv2d", "Conv3d")  # layers whose outputs sum up many inputs
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
class LossFacts:
    """What a loss does, found out by calling it. All is as it should be by default.

    Attributes:
        unstretched: The loss broadcasts nothing: it compares each output with its own target.
        ignores_outputs: The loss gives the outputs no gradient, as after `argmax`.
        ignores_pairs: The loss compares averages over the batch: whose target is whose does not
            matter, and all samples get the same gradient.
        wrong_sign: The loss is lower for wrong answers than for right ones.
        unbounded: The loss falls without end as outputs grow or shrink.
        takes_log: The loss is not finite where the model is certain: it takes the logarithm of 0.
        takes_probabilities: The loss is not finite, or gives no gradient, outside of 0 to 1.
        mixes_classes: The softmax inside the loss runs over the samples, not over the classes.
        mixes_samples: The softmax of the outputs runs over the samples, not over the classes.
        reach: How far the last activation lets the loss fall, from ignorant answers (0) to the
            least of the loss (1).
    """

    unstretched: bool = False
    ignores_outputs: bool = False
    ignores_pairs: bool = False
    wrong_sign: bool = False
    unbounded: bool = False
    takes_log: bool = False
    takes_probabilities: bool = False
    mixes_classes: bool = False
    mixes_samples: bool = False
    reach: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Setup(LossFacts):
    """What does not change during a run. Unknown values are "", () or 0.

    It has the facts of `LossFacts` too, where the loss was probed.

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
        summed: Whether the loss is the sum over all values, not their mean.
        strays: Number of layers that the model uses but does not register, as in a plain list.
        labels: Number of distinct whole numbers among the targets.
        looks_ahead: Whether the model sees the later places of a sequence, as attention without a
            mask does.
        mixed: Whether the answer to a sample depends on where it stands in the batch.
        passed_on: Whether another model judges the outputs, as the critic of a policy does.
        linear: Whether layers follow each other, and nothing but the output has an activation.
        viewed_apart: Whether a view, in place of a transpose, gives the loss its classes.
        squeezed: The activation right before a log-softmax of any term of the loss, if it is
            softmax or sigmoid.
        over_positions: Whether the loss takes the positions of a sequence for its classes.
        averages_errors: Whether the loss averages the errors of a sample as they are, so that those
            of opposite signs cancel out.
        frozen: Layers whose kernels require no gradient.
        scale: Constant factor of the outputs right before the loss, as the inverse of a
            temperature.
        untrained: Layers that require no gradient and still have random initial weights.
        dropout: Share of values that each dropout layer drops, by its name.
        since: The last step at which other parameters became trainable, -1 if none did.
        settings: Numbers among the settings of the optimizer's first group, as `weight_decay`.
        constant: Score of the best constant answer on the validation data.
        reference: Score of a quick reference model on the validation data.
        held_out: Number of validation samples, 0 if they are also trained on.
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
    summed: bool = False
    strays: int = 0
    labels: int = 0
    looks_ahead: bool = False
    mixed: bool = False
    passed_on: bool = False
    linear: bool = False
    viewed_apart: bool = False
    squeezed: str = ""
    over_positions: bool = False
    averages_errors: bool = False
    frozen: tuple[str, ...] = ()
    scale: float = 1.0
    untrained: tuple[str, ...] = ()
    dropout: Mapping[str, float] = field(default_factory=dict)
    since: int = -1
    settings: Mapping[str, float] = field(default_factory=dict)
    constant: float | None = None
    reference: float | None = None
    held_out: int = 0

    def follower(self, parameter: str) -> str:
        """Return the class of the module that comes after a parameter's own, "" if none does."""
        names = list(self.layers)
        after = names[names.index(layer_of(parameter)) + 1 :]
        return self.layers[after[0]] if after else ""

    def facts(self) -> dict[str, Any]:
        """Return what was found out by calling the loss."""
        return {each.name: getattr(self, each.name) for each in fields(LossFacts)}

    def told(self, seen: "Setup") -> dict[str, Any]:
        """Return what a loop does not show: the facts about the loss, the plan, the yardsticks.

        Some of these facts may be `seen` in the loop as well.
        """
        names = "epochs", "since", "constant", "reference", "held_out"
        told = {**self.facts(), **{name: getattr(self, name) for name in names}}
        return told | {
            name: told[name] or getattr(seen, name) for name in ("mixes_samples", "wrong_sign")
        }

    @classmethod
    def of(cls, values: object) -> "Setup":
        """Make a setup from JSON, where tuples are lists. Raise `UsageError` if it is none."""
        return dataclass_from_json(cls, values)
