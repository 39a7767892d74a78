"""New modules for a model, and where they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Part:
    """A module to be made; two with different marks are two modules."""

    kind: type[nn.Module]
    args: tuple[Any, ...] = ()
    device: torch.device | None = None
    dtype: torch.dtype | None = None
    mark: tuple[str, int] | None = None

    def build(self, training: bool) -> nn.Module:
        if self.device is None:
            return self.kind(*self.args).train(training)
        return self.kind(*self.args, device=self.device, dtype=self.dtype).train(training)


@dataclass(frozen=True)
class Change:
    """What becomes of one activation; without `instead` it stays."""

    before: Part | None = None
    instead: Part | None = None
    after: Part | None = None
