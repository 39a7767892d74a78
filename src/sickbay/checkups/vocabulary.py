"""How many tokens a model knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from sickbay.checkups.case import Case


def vocabulary(case: Case) -> int | None:
    """Return the size of the first embedding that is fed the input as it is, None if none is."""
    main, found = case.batch.main, list[int]()

    def noted(module: Any, args: Any, _: Any) -> None:
        if args and args[0].shape == main.shape and torch.equal(args[0], main):
            found.append(module.num_embeddings)

    with case.patient() as model:
        for each in model.modules():
            if isinstance(each, nn.Embedding):
                each.register_forward_hook(noted)
        case.evaluated(case.batch, model)
    return found[0] if found else None
