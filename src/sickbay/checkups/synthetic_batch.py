"""Random inputs for a model of which only the layers are known."""

from collections.abc import Callable, Iterator
from itertools import islice

import torch
from torch import Tensor, nn

from sickbay.checkups.batch import Batch

SAMPLES, LENGTH = 8, 16
FIRST_LAYERS = 3  # candidates for the layer that gets the inputs
SIDES = (32, 64, 28, 128, 224, 299)  # of images, in the order they are tried


def synthetic_batch(model: nn.Module, runs: Callable[[Batch], bool]) -> Batch | None:
    """Return a batch that fits one of the model's first layers and runs, None if none does.

    >>> synthetic_batch(nn.Sequential(nn.Flatten(), nn.Linear(12, 2)), lambda _: True).main.shape
    torch.Size([8, 12])
    """
    known = {name: layer for name, layer in model.named_modules() if any(map(len, _inputs(layer)))}
    device = next((each.device for each in model.parameters()), torch.device("cpu"))
    for name, layer in islice(known.items(), FIRST_LAYERS):
        source = f"{name or 'the model'} ({type(layer).__name__})"
        sample_dim = int(isinstance(layer, nn.RNNBase) and not layer.batch_first)
        for tensor in _inputs(layer):
            batch = Batch((tensor.to(device),), sample_dim=sample_dim, synthetic_from=source)
            if runs(batch):
                return batch
    return None


def _inputs(layer: nn.Module) -> Iterator[Tensor]:
    match layer:
        case nn.Embedding() | nn.EmbeddingBag():
            for length in (LENGTH, 8, 64):
                yield torch.randint(layer.num_embeddings, (SAMPLES, length))
        case nn.Linear() | nn.Bilinear():
            width = layer.in_features if isinstance(layer, nn.Linear) else layer.in1_features
            yield torch.randn(SAMPLES, width)
            yield torch.randn(SAMPLES, LENGTH, width)
        case nn.Conv1d() | nn.Conv2d() | nn.Conv3d():
            dimensions = len(layer.kernel_size)
            for side in SIDES[: 2 if dimensions == 3 else None]:
                yield torch.randn(SAMPLES, layer.in_channels, *[side] * dimensions)
        case nn.RNNBase():
            shape = (SAMPLES, LENGTH) if layer.batch_first else (LENGTH, SAMPLES)
            yield torch.randn(*shape, layer.input_size)
        case nn.TransformerEncoderLayer() | nn.MultiheadAttention():
            inner = layer.self_attn if isinstance(layer, nn.TransformerEncoderLayer) else layer
            yield torch.randn(SAMPLES, LENGTH, inner.embed_dim)
        case nn.BatchNorm1d():
            yield torch.randn(SAMPLES, layer.num_features)
        case nn.LayerNorm():
            yield torch.randn(SAMPLES, *layer.normalized_shape)
