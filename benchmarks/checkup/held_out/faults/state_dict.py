"""Models whose state dict does not contain the whole model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.checkup import data
from benchmarks.checkup.base_models import Autoencoder, Encoder, cnn
from benchmarks.checkup.case import CaseList, Inputs

cases = CaseList("reporting")
SAVING = "survives_saving"
CE = nn.CrossEntropyLoss()


@cases.fault(SAVING, "autoencoder, a running size in a buffer that is not kept")
def _() -> Inputs:
    class Sized(Autoencoder):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("size", torch.ones(8), persistent=False)

        def forward(self, x: Tensor) -> Any:
            size = self.get_buffer("size")
            if self.training:
                size.mul_(0.5).add_(0.5 * x.detach().abs().mean(0))
            size = size.clone()
            return super().forward(x / (size + 1e-3)) * size

    rows = 3 * data.table()[0]
    return Inputs(Sized(), (rows, rows), nn.MSELoss())


@cases.fault(SAVING, "cnn, loading starts the head anew")
def _() -> Inputs:
    class Anew(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = cnn()[:-1], nn.Linear(144, 4)

        def forward(self, x: Tensor) -> Any:
            return self.head(self.body(x))

        def load_state_dict(
            self, state_dict: Any, strict: bool = True, assign: bool = False
        ) -> Any:
            loaded = super().load_state_dict(state_dict, strict, assign)
            self.head.reset_parameters()
            return loaded

    return Inputs(Anew(), data.images(), CE)


@cases.fault(SAVING, "transformer, the state is handed out in bfloat16")
def _() -> Inputs:
    class Short(Encoder):
        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            kept = super().state_dict(*args, **kwargs)
            return {name: each.bfloat16() for name, each in kept.items()}

    return Inputs(Short(), data.text(), CE)
