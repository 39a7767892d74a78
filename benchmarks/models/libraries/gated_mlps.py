"""Networks of g-mlp-pytorch, as in its README."""

from __future__ import annotations

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies, flat_cross_entropy, tokens

library = Library("g-mlp-pytorch", "g_mlp_pytorch")


@library.architecture
def causal() -> Inputs:
    from g_mlp_pytorch import gMLP

    text = tokens(8, 17, 100)
    model = gMLP(num_tokens=100, dim=32, depth=2, seq_len=16, causal=True, attn_dim=16)
    return Inputs(model, (text[:, :-1], text[:, 1:]), flat_cross_entropy)


@library.architecture
def image_classifier() -> Inputs:
    from g_mlp_pytorch import gMLPVision

    model = gMLPVision(image_size=32, patch_size=8, num_classes=10, dim=48, depth=2)
    return classifies(model)
