"""The network of mlp-mixer-pytorch, as in its README."""

from __future__ import annotations

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

library = Library("mlp-mixer-pytorch", "mlp_mixer_pytorch")


@library.architecture
def mixer() -> Inputs:
    from mlp_mixer_pytorch import MLPMixer

    model = MLPMixer(
        image_size=32, channels=3, patch_size=8, dim=48, depth=2, num_classes=10, dropout=0.1
    )
    return classifies(model)
