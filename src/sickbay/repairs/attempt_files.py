"""What an attempt leaves in the folder of its run, so that it need not be repeated.

A record is a file of plain tensors with one text of JSON beside them. It is read as nothing else:
a file from somewhere else can be refused, but can run nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import torch
from torch import Tensor, nn

from sickbay import safe_files
from sickbay.errors import UsageError
from sickbay.json_dataclasses import dataclass_from_json
from sickbay.repairs.report import Report

Weights: TypeAlias = dict[str, Any]  # tensors; a module may keep numbers of its own beside them
FORMAT = 1
AGAIN = "delete it, and its attempt is trained again"


@dataclass(frozen=True)
class Record:
    """What an attempt has left.

    Attributes:
        name: The attempt that it changes, what it is to cure and by what, to know it again.
        over: Whether it has ended; if not, it was interrupted.
        epochs: Whole epochs that it had.
        reports: Where it stood after each heat.
        best: The best weights.
        healthy: The last healthy ones.
    """

    name: tuple[str, ...]
    over: bool
    epochs: float
    reports: Sequence[Report] = ()
    best: Weights = field(default_factory=dict)
    healthy: Weights = field(default_factory=dict)


def save(path: Path, record: Record) -> None:
    """Write a record; a UsageError if its weights are no plain tensors."""
    reports = [_fields(each) for each in record.reports]
    told = {"name": record.name, "over": record.over, "epochs": record.epochs, "reports": reports}
    kept = {
        "format": FORMAT,
        "told": json.dumps(told),
        "best": _weights(path, record.best),
        "healthy": _weights(path, record.healthy),
        "examples": [[each.detach() for each in report.example] for report in record.reports],
    }
    with safe_files.atomic_writer(path) as file:
        torch.save(kept, file)


def load(path: Path) -> Record:
    """Return a record, or say what is wrong with its file."""
    with safe_files.open_regular_file(path) as file:
        try:
            kept = torch.load(file, map_location="cpu", weights_only=True)
        except Exception:  # what torch says then is how to run the code in the file
            raise _foreign(path, "it is damaged, or holds more than tensors") from None
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise _foreign(path, "it is no record of this version")
    text, best, healthy = kept.get("told"), kept.get("best"), kept.get("healthy")
    if not isinstance(text, str) or not (_is_weights(best) and _is_weights(healthy)):
        raise _foreign(path, "a part of it is missing")
    fields = safe_files.parse_json(text, path)
    try:
        told = dataclass_from_json(Record, fields)
        reports = _with_examples(told.reports, kept.get("examples"))
    except UsageError as error:
        raise _foreign(path, str(error).rstrip(".")) from None
    return replace(told, reports=reports, best=best, healthy=healthy)


def fitting(weights: Weights, model: nn.Module, path: Path) -> Weights:
    """Return weights from a file as a model's own, or say that they are those of another."""
    own = model.state_dict()
    if not fits(own, weights):
        raise _foreign(path, "its weights are those of another model")
    own.update(weights)  # with the versions of its modules, which a plain dict has not
    return own


def fits(own: Mapping[str, Any], weights: Mapping[str, Any]) -> bool:
    """Tell whether weights have the names and shapes of a model's own."""
    return own.keys() == weights.keys() and all(
        getattr(own[name], "shape", None) == getattr(each, "shape", None)
        for name, each in weights.items()
    )


def _fields(report: Report) -> dict[str, Any]:
    fields = asdict(replace(report, example=(), error=None))
    return {name: each for name, each in fields.items() if name not in ("example", "error")}


def _with_examples(reports: Sequence[Report], examples: Any) -> list[Report]:
    good = isinstance(examples, list) and len(examples) == len(reports)
    if not good or not all(isinstance(e, list) and all(map(_is_tensor, e)) for e in examples):
        raise UsageError("its examples are missing")
    return [replace(each, example=tuple(e)) for each, e in zip(reports, examples, strict=True)]


def _weights(path: Path, weights: Weights) -> Weights:
    if not _is_weights(weights):
        raise UsageError(f"{str(path)!r} cannot be written: the model keeps more than tensors.")
    return {n: each.detach() if isinstance(each, Tensor) else each for n, each in weights.items()}


def _is_weights(value: Any) -> TypeGuard[Weights]:
    """Tell whether this is what a state dict is when nothing but tensors and numbers is in it."""
    return isinstance(value, dict) and all(
        isinstance(name, str) and (_is_tensor(each) or isinstance(each, bool | int | float | str))
        for name, each in value.items()
    )


def _is_tensor(value: Any) -> bool:
    return type(value) in (Tensor, nn.Parameter)


def _foreign(path: Path, why: str) -> UsageError:
    return safe_files.read_error(path, f"{why}; {AGAIN}")
