"""Networks of kornia."""

from __future__ import annotations

from torch import Tensor, nn

from benchmarks.checkup.case import Inputs
from benchmarks.models.architecture import Library
from benchmarks.models.batches import classifies

library = Library("kornia", "kornia", "kornia_rs")


@library.architecture
def vision_transformer() -> Inputs:
    from kornia.models.vit import VisionTransformer

    encoder = VisionTransformer(
        image_size=32, patch_size=8, depth=2, num_heads=4, embed_dim=48, dropout_rate=0.1
    )

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.head = nn.Linear(48, 10)

        def forward(self, images: Tensor) -> Tensor:
            logits: Tensor = self.head(self.encoder(images)[:, 0])
            return logits

    return classifies(Classifier())
