"""What makes scores meaningless: inputs that say too little or too much, samples that mix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from sickbay.probe import sight
from sickbay.probe.trial import Trial
from sickbay.repairs.yardsticks.answers import Inputs

ROUNDING = 1e-4  # of the largest output: what another order of a sum may change
CONSTANT = 1 / 3  # of the columns or channels
COPIED = 0.95  # of the targets
FARTHEST = 8  # places between an input and its copy


def unsound(model: nn.Module, inputs: Inputs, targets: Tensor) -> str:
    """Return why no score of a model on such samples is a success, "" if nothing speaks against it.

    >>> x, y = torch.zeros(40, 3), torch.rand(40, 1)
    >>> unsound(nn.Linear(3, 1), (x,), y)
    'all 3 inputs are the same for all samples'
    """
    return _constant(inputs) or _copied(model, inputs, targets) or _mixed(model, inputs)


def _constant(inputs: Inputs) -> str:
    columns = [each for one in inputs for each in _columns(one)]
    same = sum(columns)
    if len(inputs[0]) < 2 or not columns or same < CONSTANT * len(columns):
        return ""
    count = f"all {same}" if same == len(columns) else f"{same} of {len(columns)}"
    return f"{count} inputs are the same for all samples"


def _columns(values: Tensor) -> Iterator[bool]:
    """Yield for each column or channel of numbers whether it is the same everywhere."""
    if values.ndim < 2 or not values.is_floating_point():  # texts may all be padded
        return
    channels = 1 if values.ndim > 3 else values.ndim - 1
    rows = values.movedim(channels, 0).flatten(1)
    yield from (rows == rows[:, :1]).all(1).tolist()


def _copied(model: nn.Module, inputs: Inputs, targets: Tensor) -> str:
    """Return whether each target is an input at another place of a sequence that the model sees."""
    places = inputs[0]
    if places.ndim < 2 or targets.numel() != places.numel() or places.shape[1] < 3:
        return ""
    wanted = targets.reshape(places.shape)
    for back in range(1, min(FARTHEST, places.shape[1] - 1)):
        if _same(places[:, :-back], wanted[:, back:]):
            return f"the targets are the inputs of {back} place{'s' * (back > 1)} before"
    ahead = _same(places[:, 1:], wanted[:, :-1]) and sees_ahead(model, inputs)[0]
    return "each output sees its target, the next input" if ahead else ""


def _same(inputs: Tensor, targets: Tensor) -> bool:
    """Return whether targets are equal to inputs, also those that are not the most frequent one."""
    if inputs.is_floating_point() != targets.is_floating_point() or not targets.numel():
        return False
    equal = inputs == targets
    rare = targets != targets.flatten().mode().values
    return bool(rare.any()) and min(map(_share, (equal, equal[rare]))) >= COPIED


def _share(values: Tensor) -> float:
    return float(values.double().mean())


def sees_ahead(model: nn.Module, inputs: Inputs) -> list[bool]:
    """Return for each input whether earlier answers depend on its later places."""
    trial = Trial.of(model, inputs, {})
    if trial is None:
        return [False for _ in inputs]
    return [sight.sees_ahead(trial, shown=each) for each in trial.inputs]


def _mixed(model: nn.Module, inputs: Inputs) -> str:
    """Return whether samples of a batch change the outputs of other samples."""
    trial = Trial.of(model, inputs, {})
    if trial is None or trial.first is None or not trial.first.ndim:
        return ""
    before, count = trial.first, len(trial.inputs[0])
    half = trial.answer(lambda values: values[: count // 2].clone())
    if len(before) % count or half is None or half.shape[1:] != before.shape[1:]:
        return ""  # each sample is compared with all
    samples = torch.arange(len(before)) // (len(before) // count)
    for replaced in (0, count - 1):
        after = trial.answer(partial(_with_another, replaced))
        kept = samples != replaced
        if after is not None and _differ(before[kept], after[kept], before):
            return "samples of a batch change the outputs of others"
    return ""


def _with_another(replaced: int, values: Tensor) -> Tensor:
    """Return samples with one of them in the place of another."""
    changed = values.clone()
    changed[replaced] = values[len(values) // 2]
    return changed


def _differ(one: Tensor, other: Tensor, whole: Tensor) -> bool:
    return bool(((one - other).abs() > ROUNDING * whole.abs().max()).any())
