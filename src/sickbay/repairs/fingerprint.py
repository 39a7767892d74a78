"""What distinguishes one repair from another: a repair can only be resumed with the same inputs.

Everything the result depends on is hashed part by part, so that the error can name what changed.
The hashes are the same in every process: they contain no addresses and no order of sets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from sickbay import safe_files
from sickbay.errors import UsageError
from sickbay.model_copies import tensors_in
from sickbay.recipe import Recipe
from sickbay.repairs.batch_sources import Rows, Source
from sickbay.repairs.data import Data
from sickbay.repairs.digest import Digest
from sickbay.repairs.run_settings import RunSettings

SAMPLES = 256  # of a dataset, which represent all
BATCHES = 8  # of a DataLoader with its own sampler or collation
HASHED_APART = ("model", "loss", "optimizer", "scheduler", "example", "inputs", "targets", "setup")
MAX_BYTES = 10_000  # of the file

Fingerprint = Mapping[str, str]


def fingerprint(
    recipe: Recipe, data: Data | None, settings: RunSettings, **more: Any
) -> Fingerprint:
    """Return a hash for every part of a repair.

    Tensors are hashed whole up to a size (see `digest`). A dataset is represented by 256 evenly
    spread samples, a DataLoader with its own sampler or collation by its first 8 batches. If they
    differ when asked for again, only their shapes count.
    """
    values = {each.name: getattr(recipe, each.name) for each in fields(recipe)}
    rest = {name: value for name, value in values.items() if name not in HASHED_APART}
    run_settings = settings.epochs, settings.target, settings.seed, settings.problems
    parts = {
        "model": recipe.model,
        "initial weights": [*recipe.model.named_parameters(), *recipe.model.named_buffers()],
        "loss": recipe.loss,
        "optimizer": list(_optimizer(recipe)),
        "scheduler": recipe.scheduler,
        "metric": settings.metric,
        "settings": (rest, *run_settings, more),
        "device": torch.device(settings.device).type,
    }
    marks = {part: Digest(part != "model").add(value).text for part, value in parts.items()}
    return marks if data is None else marks | {"data": _data(data)}


def check(file: Path, mark: Fingerprint) -> None:
    """Raise `UsageError` if a file has the fingerprint of another repair."""
    kept = safe_files.parse_json(safe_files.read_file(file, MAX_BYTES), file)
    if not isinstance(kept, dict):
        raise safe_files.read_error(file, "it is not the fingerprint of a repair")
    changed = [part for part in {**mark, **kept} if kept.get(part) != mark.get(part)]
    if changed:
        names = ", ".join(map(repr, changed))[:200]
        hint = ""
        if changed == ["initial weights"]:
            hint = " For the same weights call torch.manual_seed before you make the model."
        elif "settings" in changed:
            hint = " Another version of sickbay may have other settings."
        raise UsageError(
            f"{str(file.parent)!r} holds a repair with another model, data or settings; it cannot "
            f"be resumed with these. Different: {names}.{hint}"
        )


def _optimizer(recipe: Recipe) -> Iterator[Any]:
    names = {id(each): name for name, each in recipe.model.named_parameters()}
    yield type(recipe.optimizer)
    for group in recipe.optimizer.param_groups:
        yield {name: value for name, value in group.items() if name != "params"}
        for each in group["params"]:
            yield names.get(id(each), ""), recipe.optimizer.state.get(each)


def _data(data: Data) -> str:
    how = data.batch_size, data.held_out, data.seed, data.shuffle, data.drop_last, data.scored_in
    digest = Digest().add((how, str(data.dtype), data.training.size, data.validation.size))
    for source in (data.training, data.validation):
        if isinstance(source, Rows):
            digest.add((source.inputs, source.targets))
            continue
        first, again = (Digest().add(list(_some(source))).text for _ in range(2))
        shapes = [[each.shape for each in tensors_in(raw)] for raw in _some(source)]
        digest.add(first if first == again else shapes)
    return digest.text


def _some(source: Source) -> Iterator[Any]:
    """Yield some batches of a source, always the same ones."""
    size = source.size or 0
    rows = torch.linspace(0, max(0, size - 1), min(SAMPLES, size)).long()
    return islice(source.batches(torch.split(rows, 32) if size else [], 0), BATCHES)
