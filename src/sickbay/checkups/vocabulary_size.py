"""How many tokens a model knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from sickbay.checkups.layer_calls import calls

if TYPE_CHECKING:
    from sickbay.checkups.case import Case


def vocabulary(case: Case) -> int | None:
    """Return the size of the first embedding that is fed the input as it is, None if none is."""
    main = case.batch.main
    for layer, args in calls(case, case.batch, lambda each: isinstance(each, nn.Embedding)):
        if args and args[0].shape == main.shape and torch.equal(args[0], main):
            return int(layer.num_embeddings)  # type: ignore[arg-type]
    return None
