"""Statistics of batch norm as after a few steps: untrained ones let signals fade in evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

if TYPE_CHECKING:
    from sickbay.checkups.model_setup import ModelSetup

PASSES, MOMENTUM = 3, 0.5  # keeps an eighth of the initial statistics, so no variance is zero


@contextmanager
def settled_copy(setup: ModelSetup) -> Iterator[nn.Module]:
    """Yield a copy of the model with the buffers that it has after a few passes in training."""
    values = setup.once(settled_buffers)
    with setup.model_copy() as model:
        for name, each in model.named_buffers():
            if name in values and values[name].shape == each.shape:
                each.copy_(values[name])
        yield model


def settled_buffers(setup: ModelSetup) -> dict[str, Tensor]:
    """Return the buffers after a few passes in training if the model has batch norm."""
    with setup.model_copy(training=True) as model:
        norms = [each for each in model.modules() if isinstance(each, _NormBase)]
        if not any(each.track_running_stats for each in norms):
            return {}
        for norm in norms:
            norm.momentum = MOMENTUM
        try:
            with torch.no_grad():
                for _ in range(PASSES):
                    setup.run(model, setup.batch)
        except Exception:
            return {}
        return {name: each.clone() for name, each in model.named_buffers()}
