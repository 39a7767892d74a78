"""Faults as text, for command lines: `scale_gradients*20@500`."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from torch import nn
from torch.optim import Optimizer

from sickbay.arguments import bad_argument, check_choice, check_float, check_text
from sickbay.errors import UsageError
from sickbay.inject import data_faults, model_faults
from sickbay.inject.injection import When, check_value

FAULTS: Mapping[str, Callable[..., Any]] = {
    "dead_layer": model_faults.dead_layer,
    "freeze_layer": model_faults.freeze_layer,
    "nan_batch": data_faults.nan_batch,
    "nan_gradient": model_faults.nan_gradient,
    "nan_weight": model_faults.nan_weight,
    "raise_learning_rate": model_faults.raise_learning_rate,
    "scale_gradients": model_faults.scale_gradients,
    "scale_inputs": data_faults.scale_inputs,
    "shuffle_labels": data_faults.shuffle_labels,
}
GRAMMAR = "NAME[:LAYER][*FACTOR][=VALUE]@STEP[,STEP...][+EVERY]"
PATTERN = re.compile(
    r"(?P<name>\w+)(:(?P<layer>[^*=@]+))?(\*(?P<factor>[^=@]+))?(=(?P<value>[^@]+))?"
    r"@(?P<at>[0-9]{1,18}(,[0-9]{1,18})*)(\+(?P<every>[0-9]{1,18}))?"
)
MARKS = {"layer": ":LAYER", "factor": "*FACTOR", "value": "=VALUE", "every": "+EVERY"}


@dataclass(frozen=True)
class Fault:
    """A fault and its steps, made by `parse`. Its string can be parsed again."""

    name: str
    at: tuple[int, ...]
    every: int | None = None
    layer: str | None = None
    factor: float | None = None
    value: float | None = None

    def __post_init__(self) -> None:
        check_choice("fault", self.name, FAULTS)
        if not isinstance(self.at, tuple):
            raise bad_argument("at", "a tuple of steps", self.at)
        When.at_steps(self.at, self.every)
        if self.layer is not None:
            check_text("layer", self.layer)
        if self.factor is not None:
            check_float("factor", self.factor)
        if self.value is not None:
            check_value(self.value)
        parameters = signature(FAULTS[self.name]).parameters
        for part, mark in MARKS.items():
            parameter = parameters.get(part) or parameters.get(f"{part}s")
            given = getattr(self, part) is not None
            if given and parameter is None:
                raise self._misfit(f"takes no {mark}")
            if not given and parameter is not None and parameter.default is Parameter.empty:
                raise self._misfit(f"needs {mark}")
        if "every" not in parameters and len(self.at) > 1:
            raise self._misfit("lasts and takes one STEP")

    def into(self, model: nn.Module, optimizer: Optimizer) -> AbstractContextManager[Any]:
        """Return the context manager that puts the fault into the training of a model.

        A fault in the labels does nothing here: use `over`.
        """
        if self.name == "shuffle_labels":
            return nullcontext()
        targets = (optimizer,) if self.name == "raise_learning_rate" else (model, optimizer)
        injection: AbstractContextManager[Any] = FAULTS[self.name](*targets, **self._options())
        return injection

    def over(self, batches: Iterable[Any]) -> Iterable[Any]:
        """Return the batches, with the fault if it is in the labels."""
        if self.name != "shuffle_labels":
            return batches
        return data_faults.shuffle_labels(batches, **self._options())

    def _options(self) -> dict[str, Any]:
        """Return the keyword arguments of the function that makes the fault."""
        takes = signature(FAULTS[self.name]).parameters
        options = {key: getattr(self, key) for key in MARKS if getattr(self, key) is not None}
        if "layers" in takes and "layer" in options:
            options["layers"] = options.pop("layer")
        return {**options, "at": self.at if "every" in takes else self.at[0]}

    def _misfit(self, rule: str) -> UsageError:
        return UsageError(f"{self.name} {rule}, as in {_example(self.name)}, got {str(self)!r}.")

    def __str__(self) -> str:
        layer = f":{self.layer}" if self.layer is not None else ""
        factor = f"*{self.factor:g}" if self.factor is not None else ""
        value = f"={self.value:g}" if self.value is not None else ""
        every = f"+{self.every}" if self.every is not None else ""
        return f"{self.name}{layer}{factor}{value}@{','.join(map(str, self.at))}{every}"


def parse(spec: str) -> Fault:
    """Return the fault that a text describes.

    The text is NAME[:LAYER][*FACTOR][=VALUE]@STEP[,STEP...][+EVERY]: the name of a function of this
    package, and its arguments.

    >>> fault = parse("scale_gradients*20@500+2000")
    >>> fault.name, fault.factor, fault.at, fault.every
    ('scale_gradients', 20.0, (500,), 2000)
    >>> print(parse("dead_layer:encoder.0@100"), parse("nan_gradient=inf@50,70"))
    dead_layer:encoder.0@100 nan_gradient=inf@50,70
    """
    if not isinstance(spec, str):
        raise bad_argument("A fault", GRAMMAR, spec)
    parts, name = PATTERN.fullmatch(spec), re.split(r"\W", spec)[0]
    check_choice("fault", name, FAULTS)
    if parts is None:
        raise UsageError(f"A fault must be {GRAMMAR}, as in {_example(name)}, got {spec!r}.")
    return Fault(
        name,
        at=tuple(map(int, parts["at"].split(","))),
        every=None if parts["every"] is None else int(parts["every"]),
        layer=parts["layer"],
        factor=_number(spec, "FACTOR", parts["factor"]),
        value=_number(spec, "VALUE", parts["value"]),
    )


def _number(spec: str, what: str, given: str | None) -> float | None:
    try:
        return None if given is None else float(given)
    except ValueError:
        raise UsageError(f"{what} must be a number, got {given!r} in {spec!r}.") from None


def _example(name: str) -> str:
    """Return the shortest text of a fault.

    >>> _example("scale_gradients"), _example("dead_layer")
    ("'scale_gradients*20@500'", "'dead_layer:encoder.0@500'")
    """
    wanted = signature(FAULTS[name]).parameters
    layer = ":encoder.0" if "layer" in wanted and wanted["layer"].default is Parameter.empty else ""
    factor = "*20" if "factor" in wanted else ""
    return f"'{name}{layer}{factor}@500'"
