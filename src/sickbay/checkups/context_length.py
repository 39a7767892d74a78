"""How long a sequence a model says it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from sickbay.checkups.layer_calls import calls

if TYPE_CHECKING:
    from sickbay.checkups.case import Case

MOST = 1024  # places that are tried


def context_of(case: Case, length: int) -> list[int]:
    """Return the length that position embeddings allow, if it is another than this one."""
    one, found = case.batch.first(1), list[int]()
    for layer, args in calls(case, one, lambda each: isinstance(each, nn.Embedding)):
        places = args[0].detach().flatten()
        counted = torch.arange(len(places), device=places.device) + places[:1]
        if len(places) >= length and torch.equal(places, counted):
            found.append(int(layer.num_embeddings) - (int(places[-1]) + 1 - length))  # type: ignore[arg-type]
    most = min(found, default=length)
    return [most] if length < most <= MOST else []
