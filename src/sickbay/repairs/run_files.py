"""Files that keep what a run has learnt, so that a resumed repair need not train it again.

Each holds plain tensors and a JSON text. Loading one from elsewhere can fail, but runs no code.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from sickbay import safe_files
from sickbay.errors import UsageError
from sickbay.json_dataclasses import dataclass_from_json, json_object
from sickbay.repairs.run import Progress, Weights

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """What is kept of a run. The file has the same names, except "reports" for the heats."""

    name: tuple[str, ...]  # the parent's number, the problem to cure and the remedy's key
    over: bool  # else it was interrupted
    epochs: float
    heats: Sequence[Progress] = ()  # the progress after each heat
    best: Weights = field(default_factory=dict)
    healthy: Weights = field(default_factory=dict)


def save(path: Path, record: Record) -> None:
    """Write a record. Raise `UsageError` if its weights are not plain tensors."""
    heats = [_fields(each) for each in record.heats]
    summary = {"name": record.name, "over": record.over, "epochs": record.epochs, "reports": heats}
    contents = {
        "format": FORMAT,
        "told": json.dumps(summary),  # the format keeps the old word
        "best": _weights(path, record.best),
        "healthy": _weights(path, record.healthy),
        "examples": [[each.detach() for each in heat.example] for heat in record.heats],
    }
    with safe_files.atomic_writer(path) as file:
        torch.save(contents, file)


def load(path: Path) -> Record:
    """Read a record. Raise `UsageError` if the file is damaged."""
    with safe_files.open_regular_file(path) as file:
        try:
            contents = torch.load(file, map_location="cpu", weights_only=True)
        except Exception:  # torch's own message explains how to run the code in the file
            raise _unusable(path, "it is damaged, or holds more than tensors") from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise _unusable(path, "it is not a record of this version")
    text, best, healthy = (contents.get(name) for name in ("told", "best", "healthy"))
    if not isinstance(text, str) or not (_is_weights(best) and _is_weights(healthy)):
        raise _unusable(path, "a part of it is missing")
    try:
        fields = json_object("Record", safe_files.parse_json(text, path))
        record = dataclass_from_json(Record, {**fields, "heats": fields.get("reports", [])})
        heats = _with_examples(record.heats, contents.get("examples"))
        if record.over and not heats:
            raise UsageError("its heats are missing")
    except UsageError as error:
        raise _unusable(path, str(error).rstrip(".")) from None
    return replace(record, heats=heats, best=best, healthy=healthy)


def fitting(weights: Weights, model: nn.Module, path: Path) -> Weights:
    """Return weights from a file as the state dict of a model."""
    own = model.state_dict()
    if not fits(own, weights):
        raise _unusable(path, "its weights belong to another model")
    own.update(weights)  # keeps the versions of modules, which a plain dict does not have
    return own


def fits(own: Mapping[str, Any], weights: Mapping[str, Any]) -> bool:
    """Return whether weights have the names and shapes of a model's own."""
    return own.keys() == weights.keys() and all(
        getattr(own[name], "shape", None) == getattr(each, "shape", None)
        for name, each in weights.items()
    )


def _fields(progress: Progress) -> dict[str, Any]:
    fields = asdict(replace(progress, example=(), error=None))
    return {name: each for name, each in fields.items() if name not in ("example", "error")}


def _with_examples(heats: Sequence[Progress], examples: Any) -> list[Progress]:
    good = isinstance(examples, list) and len(examples) == len(heats)
    if not good or not all(isinstance(e, list) and all(map(_is_tensor, e)) for e in examples):
        raise UsageError("its examples are missing")
    return [replace(each, example=tuple(e)) for each, e in zip(heats, examples, strict=True)]


def _weights(path: Path, weights: Weights) -> Weights:
    if not _is_weights(weights):
        raise UsageError(f"{str(path)!r} cannot be written: the model keeps more than tensors.")
    return {n: each.detach() if isinstance(each, Tensor) else each for n, each in weights.items()}


def _is_weights(value: Any) -> TypeGuard[Weights]:
    """Return whether this is a state dict of nothing but tensors and plain values."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and (_is_tensor(each) or isinstance(each, bool | int | float | str))
        for name, each in value.items()
    )


def _is_tensor(value: Any) -> bool:
    return type(value) in (Tensor, nn.Parameter)


def _unusable(path: Path, why: str) -> UsageError:
    return safe_files.read_error(path, f"{why}; delete it to train its attempt again")
