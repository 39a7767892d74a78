"""Which parameters come to move in the first steps, where some do not in the very first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from sickbay.checkups.first_pass import main_output
from sickbay.model_copies import tensors_in

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

STEPS = 4
SIZE, FROM_ZERO = 1e-2, 1e-3  # of a step: a share of the weights, or so much where all are zero
MORE = 4  # times the samples, so that what is rarely asked for is


def first_steps(case: Case) -> frozenset[str]:
    """Return the parameters that get a gradient other than zero.

    A layer that starts at zero, as LoRA's B, cuts those before it off in the first step alone. So
    where a gradient is zero, steps are taken for as long as that makes others move.
    """
    seen = case.seen
    found, gradients = set(seen.reached), dict(seen.gradients)
    wanted = seen.used & gradients.keys()
    if wanted <= found:
        return frozenset(found)
    with case.patient(training=True) as model:
        for _ in range(STEPS):
            step(model, gradients)
            gradients = {**gradients, **slopes(case, model)}
            more = {name for name, each in gradients.items() if each is not None and each.any()}
            if more <= found or wanted <= (found := found | more):
                break
    return frozenset(found)


def step(model: nn.Module, gradients: Mapping[str, Tensor | None]) -> None:
    """Move every weight a little, down its gradient."""
    with torch.no_grad():
        for name, each in model.named_parameters():
            gradient = gradients.get(name)
            if gradient is not None:
                size = SIZE * each.detach().float().square().mean().sqrt().item() or FROM_ZERO
                each.sub_(gradient.nan_to_num().sign().to(each.dtype), alpha=size)


def slopes(case: Case, model: nn.Module) -> dict[str, Tensor]:
    """Return the gradient of the loss and of what is put out beside the main output."""
    batch = case.whole.first(MORE * case.batch.size)
    raw = case.run(model, batch)
    main, given = main_output(raw), case.loss_of(raw, batch)
    ends = [each for each in tensors_in(raw) if each.requires_grad]
    if given is not None:  # where that reaches nothing, no other output makes up for it
        ends = [each for each in ends if each is not main and case.seen.reached]
    parts = [(each.float() * torch.randn_like(each.float())).mean() for each in ends]
    total = sum(parts, torch.zeros(()) if given is None else given)
    known = {name: each for name, each in model.named_parameters() if each.requires_grad}
    if not total.requires_grad:
        return {}
    found = torch.autograd.grad(total, list(known.values()), allow_unused=True)
    return {name: each for name, each in zip(known, found, strict=True) if each is not None}
