"""Which parameters get a gradient in the first steps, even if not in the very first."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.base import ModelSetup
from sickbay.checkups.batch import Batch
from sickbay.checkups.model_losses import main_output
from sickbay.checkups.training_passes import first_pass, training_losses
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import tensors_in

STEPS = 4
RELATIVE_STEP, STEP_FROM_ZERO = 1e-2, 1e-3  # of a weight's size, or absolute if it is all zero
RATE, ADAM_STEPS = 1e-3, 10
FALL = 0.01  # share of the loss
MORE_SAMPLES = 4  # times as many, so that rarely used parameters get their turn


def reached_parameters(setup: ModelSetup) -> frozenset[str]:
    """Return the parameters that get a gradient other than zero.

    A layer that starts at zero, as LoRA's B, blocks the layers before it in the first step only. So
    if gradients are zero, more steps follow for as long as they reach further parameters.
    """
    first = setup.first_pass
    found, wanted = set(first.reached), first.used & first.gradients.keys()
    if wanted <= found:
        return frozenset(found)
    with setup.model_copy(training=True) as model:
        first_pass(model, setup.batch, setup.run, setup.loss_of)
        gradients = {name: _dense(each.grad) for name, each in model.named_parameters()}
        for _ in range(STEPS):
            _step(model, gradients)
            gradients = {**gradients, **_gradients(setup, model)}
            more = {name for name, each in gradients.items() if each is not None and each.any()}
            if more <= found or wanted <= (found := found | more):
                break
    return frozenset(found)


def loss_falls(setup: ModelSetup) -> bool:
    """Return whether a few steps of Adam lower the loss on the batch."""

    def run(model: nn.Module, batch: Batch) -> Any:
        with IsolatedRandom(0):  # the same in every step
            return setup.run(model, batch)

    with setup.model_copy(training=True) as model:
        trained = [each for each in model.parameters() if each.requires_grad]
        optimizer = torch.optim.Adam(trained, lr=RATE)
        losses = training_losses(model, setup.batch, optimizer, run, setup.loss_of)
        first, *later = islice(losses, ADAM_STEPS + 1)
    return bool(later) and min(later) < first - FALL * abs(first)


def _step(model: nn.Module, gradients: Mapping[str, Tensor | None]) -> None:
    """Move every weight a little against the sign of its gradient."""
    with torch.no_grad():
        for name, each in model.named_parameters():
            gradient = gradients.get(name)
            if gradient is not None:
                size = each.detach().float().square().mean().sqrt().item()
                step = RELATIVE_STEP * size or STEP_FROM_ZERO
                each.sub_(gradient.nan_to_num().sign().to(each.dtype), alpha=step)


def _dense(gradient: Tensor | None) -> Tensor | None:
    return None if gradient is None else gradient.to_dense()


def _gradients(setup: ModelSetup, model: nn.Module) -> dict[str, Tensor]:
    """Return the gradients of the loss, and of other outputs if a loss never saw them."""
    batch = setup.full_batch.first(MORE_SAMPLES * setup.batch.size)
    raw = setup.run(model, batch)
    main, loss = main_output(raw), setup.loss_of(raw, batch)
    outputs = [each for each in tensors_in(raw) if each.requires_grad]
    if loss is not None:  # if the loss reaches nothing, other outputs are no excuse
        seen = setup.takes_whole_output(raw, batch) or not setup.first_pass.reached
        outputs = [] if seen else [each for each in outputs if each is not main]
    parts = [(each.float() * torch.randn_like(each.float())).mean() for each in outputs]
    total = sum(parts, torch.zeros(()) if loss is None else loss)
    known = {name: each for name, each in model.named_parameters() if each.requires_grad}
    if not total.requires_grad:
        return {}
    found = torch.autograd.grad(total, list(known.values()), allow_unused=True)
    return {name: each for name, each in zip(known, found, strict=True) if each is not None}
