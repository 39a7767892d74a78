"""What tells one run from another: a run is only resumed by the same.

Everything that the result depends on is hashed, part by part, so that the error can name what has
changed: the same in every process, so without addresses, orders of sets or anything else that
Python draws anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sickbay import safe_files
from sickbay.errors import UsageError
from sickbay.recipe import Recipe
from sickbay.repairs.batch_sources import Rows, Source
from sickbay.repairs.data import Data
from sickbay.repairs.digest import Digest
from sickbay.repairs.training_loop import RunSettings

TAKEN = 256  # samples of a dataset, or batches of 32, that stand for all
BATCHES = 8  # of a DataLoader that goes its own way
LIVE = ("model", "loss", "optimizer", "example", "inputs", "targets", "setup")  # of a recipe
LONGEST = 10_000  # bytes of the file of a fingerprint

Fingerprint = Mapping[str, str]


def fingerprint(
    recipe: Recipe, data: Data | None, terms: RunSettings, **settings: Any
) -> Fingerprint:
    """Return what tells a run from others, a hash for every part of it.

    Tensors are hashed whole up to a size (see `digest`). Of a dataset 256 samples, evenly spread,
    stand for all, of a DataLoader with a way of its own the first 8 batches; if they are others
    when they are asked for again, only their shapes count.
    """
    plain = {each.name: getattr(recipe, each.name) for each in fields(recipe)}
    rest = {name: value for name, value in plain.items() if name not in LIVE}
    names = {id(each): name for name, each in recipe.model.named_parameters()}
    told = {
        "model": recipe.model,
        "initial weights": [*recipe.model.named_parameters(), *recipe.model.named_buffers()],
        "loss": recipe.loss,
        "optimizer": list(_optimizer(recipe, names)),
        "settings": (rest, terms.epochs, terms.target, terms.seed, terms.problems, settings),
        "device": torch.device(terms.device).type,
    }
    marks = {part: Digest(part != "model").add(value).text for part, value in told.items()}
    return marks if data is None else marks | {"data": _data(data)}


def check(file: Path, mark: Fingerprint) -> None:
    """Say so if a file has the fingerprint of another run."""
    kept = safe_files.parse_json(safe_files.read_file(file, LONGEST), file)
    if not isinstance(kept, dict):
        raise safe_files.read_error(file, "it is no fingerprint of a run")
    changed = [part for part in {**mark, **kept} if kept.get(part) != mark.get(part)]
    if changed:
        names = ", ".join(map(repr, changed))[:200]
        raise UsageError(
            f"{str(file.parent)!r} holds a repair with another model, data or settings; it cannot "
            f"be resumed with these. Different: {names}.{_hint(changed)}"
        )


def write(file: Path, mark: Fingerprint) -> None:
    """Keep a fingerprint."""
    safe_files.write_atomically(file, (json.dumps(mark, indent=1) + "\n").encode())


def _hint(changed: list[str]) -> str:
    if changed == ["initial weights"]:
        return " For the same weights call torch.manual_seed before the model is made."
    return ""


def _optimizer(recipe: Recipe, names: Mapping[int, str]) -> Iterator[Any]:
    """Yield the kind of an optimizer, its settings, and what it has to do with each parameter."""
    yield type(recipe.optimizer)
    for group in recipe.optimizer.param_groups:
        yield {name: value for name, value in group.items() if name != "params"}
        for each in group["params"]:
            yield names.get(id(each), ""), recipe.optimizer.state.get(each)


def _data(data: Data) -> str:
    ways = data.batch_size, data.held_out, data.seed, data.shuffle, data.drop_last, data.scored_in
    found = Digest().add((ways, str(data.dtype), data.training.size, data.validation.size))
    for source in (data.training, data.validation):
        if isinstance(source, Rows):
            found.add((source.inputs, source.targets))
            continue
        first, again = (Digest().add(list(_some(source))).text for _ in range(2))
        shapes = [[each.shape for each in _tensors(raw)] for raw in _some(source)]
        found.add(first if first == again else shapes)
    return found.text


def _some(source: Source) -> Iterator[Any]:
    """Yield some batches of a source, always the same ones."""
    size = source.size or 0
    rows = torch.linspace(0, max(0, size - 1), min(TAKEN, size)).long()
    return islice(source.batches(torch.split(rows, 32) if size else [], 0), BATCHES)


def _tensors(raw: Any) -> list[Tensor]:
    items = raw.values() if isinstance(raw, dict) else raw
    if isinstance(raw, dict | list | tuple):
        return [found for each in items for found in _tensors(each)]
    return [raw] if isinstance(raw, Tensor) else []
