"""The eight component tests of the paper, as tests of `sickbay.checkup`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

import sickbay
from benchmarks.published.training_doctor.char_gpt import BYTES, CharGPT
from benchmarks.published.training_doctor.watched_runs import SEED, Plan
from sickbay.checkups.statements import MemoryIsBounded

Report = dict[str, Any]
# What the paper tests, with the tests of a checkup that cover it.
COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "parameter initialisation": ("parameters_are_sane",),
    "forward shapes": ("shapes_follow_the_batch",),
    "gradient flow": ("gradient_reaches_every_parameter", "every_parameter_is_used"),
    "memory of a forward pass": ("memory_is_bounded",),
    "numerical stability on edge inputs": ("survives_edge_inputs",),
    "attention": ("attention_rows_sum_to_one", "sees_no_future"),
    "position embedding": ("uses_positions",),
    "layer normalisation": ("normalisation_normalises",),
}

LIMITED = {"memory_is_bounded": MemoryIsBounded(limit=1.0)}  # GB, as published


def examine(text: Tensor, plan: Plan) -> Report:
    """Return the result of each test for a fresh char-GPT, and the seconds it took."""
    torch.manual_seed(SEED)
    model = CharGPT(plan.length, plan.width, plan.layers, plan.heads, dropout=0.2)
    rows = text[: 4 * (plan.length // 2 + 1)].cpu().view(4, -1)  # half the context: it can grow
    names = [name for names in COMPONENTS.values() for name in names]
    tests = [LIMITED.get(name, name) for name in names]
    report = sickbay.checkup(model, (rows[:, :-1], rows[:, 1:]), _loss, tests=tests)
    return {
        each.test: {"outcome": each.outcome, "message": each.message, "seconds": each.seconds}
        for each in report.results
    }


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.reshape(-1, BYTES), targets.flatten())
