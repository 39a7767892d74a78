"""How long a sequence a model says it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

MOST = 1024  # places that are tried


def context_of(case: Case, length: int) -> list[int]:
    """Return the length that position embeddings allow, if it is another than this one."""
    found: list[int] = []

    def noted(module: Any, args: Any, _: Any) -> None:
        places = args[0].detach().flatten()
        counted = torch.arange(len(places), device=places.device) + places[:1]
        if len(places) >= length and torch.equal(places, counted):
            found.append(module.num_embeddings - (int(places[-1]) + 1 - length))

    with case.patient() as model:
        layers = [each for each in model.modules() if isinstance(each, nn.Embedding)]
        for each in layers:
            each.register_forward_hook(noted)
        if layers:
            case.evaluated(case.batch.first(1), model)
    most = min(found, default=length)
    return [most] if length < most <= MOST else []
