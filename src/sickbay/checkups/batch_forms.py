"""Other ways to pass a batch to a model, for one that does not run as the batch was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from sickbay.checkups.batch import LABELS, Batch
from sickbay.model_copies import parts_of

if TYPE_CHECKING:
    from sickbay.checkups.model_setup import ModelSetup

UNCUT = "the batch only runs as a whole"
AS_ONE = "the inputs were passed as one {}"
NAMED = "the parts of the input were passed by name"
LABELLED = "the targets were also passed to the model, as {}"
NO_TARGETS = "the last part of the batch was taken as an input, not as targets"
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Reading(NamedTuple):
    """A batch as it may be meant, whether its size is fixed, and a note for the report."""

    batch: Batch
    fixed_size: bool = False
    note: str = ""


def other_readings(setup: ModelSetup) -> Iterator[Reading]:
    """Yield readings of a batch that may run in training.

    The first is the whole batch. The others are for a model that does not run, or that computes its
    loss if it gets the labels.
    """
    given = setup.full_batch
    part_runs = setup.runs(setup.batch, training=True)  # so the loss fails
    yield Reading(replace(given, joined=UNCUT)) if part_runs else uncut(given)
    runs = setup.runs(given, training=True)
    for form, note in other_forms(given, setup.model.forward):
        adds_labels = form.kwargs.keys() > given.kwargs.keys()
        if not runs or (adds_labels and not setup.has_loss):
            yield Reading(form, note=note)


def uncut(batch: Batch) -> Reading:
    """Return a batch that only runs as a whole; its size is fixed if the model is the reason."""
    plain = batch.is_plain
    return Reading(batch if plain else replace(batch, joined=UNCUT), fixed_size=plain)


def other_forms(batch: Batch, forward: Callable[..., Any]) -> Iterator[tuple[Batch, str]]:
    """Yield other readings of a batch that fit the arguments of a model, and what they are.

    >>> import torch
    >>> x1, x2 = torch.rand(2, 3), torch.rand(2, 4)
    >>> [note for _, note in other_forms(Batch.of((x1, x2)), lambda a, b: a)]
    ['the last part of the batch was taken as an input, not as targets']
    """
    try:
        parameters = list(signature(forward).parameters.values())
    except (TypeError, ValueError):
        return
    known = [each for each in parameters if each.kind in POSITIONAL]
    names = [each.name for each in known]
    required = [each.name for each in known if each.default is each.empty]
    for form, note in _forms(batch, names, required):
        yield form.with_layout(), note


def _forms(batch: Batch, names: list[str], required: list[str]) -> Iterator[tuple[Batch, str]]:
    if batch.kwargs and not batch.args and len(names) == 1:
        yield replace(batch, args=(dict(batch.kwargs),), kwargs={}), AS_ONE.format("dict")
    if len(batch.args) > 1:
        yield replace(batch, args=(list(batch.args),)), AS_ONE.format("list")
    held = parts_of(batch.args[0]) if len(batch.args) == 1 else {}
    if held and set(required) <= set(held):
        kwargs = {name: held[name] for name in names if name in held}
        yield replace(batch, args=(), kwargs=kwargs), NAMED
    yield from _with_targets_as_input(batch, names, required)


def _with_targets_as_input(
    batch: Batch, names: list[str], required: list[str]
) -> Iterator[tuple[Batch, str]]:
    """Yield the batch with its targets as a further argument, or in a list with the input."""
    targets = batch.all_targets
    if targets is None:
        return
    unused = [name for name in names[len(batch.args) :] if name not in batch.kwargs]
    label = next((name for name in unused if name in LABELS), "")
    if label:
        yield replace(batch, kwargs={**batch.kwargs, label: targets}), LABELLED.format(label)
    elif unused and unused[0] in required:
        without = replace(batch, targets=None, nested_targets=None)
        more = tuple(targets) if isinstance(targets, tuple) else (targets,)
        yield replace(without, args=(*batch.args, *more)), NO_TARGETS
    elif len(names) == 1 and len(batch.args) == 1:
        args = ([batch.args[0], targets],)
        yield replace(batch, args=args, targets=None, nested_targets=None), NO_TARGETS


def without_unknown_labels(batch: Batch, forward: Callable[..., Any]) -> Batch:
    """Return the batch without labels among the arguments that a model does not accept."""
    known = signature(forward).parameters
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return batch
    kept = {
        name: each for name, each in batch.kwargs.items() if name in known or name not in LABELS
    }
    return replace(batch, kwargs=kept)
