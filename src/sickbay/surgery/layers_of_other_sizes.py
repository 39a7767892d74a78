"""New layers like others, with other numbers of inputs and outputs."""

from fractions import Fraction
from typing import Any

from torch import nn

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
RECURRENT = (nn.RNN, nn.LSTM, nn.GRU)
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)


def resized(module: nn.Module, inputs: Fraction, outputs: Fraction) -> nn.Module:
    """Return a new module like another one, with so many times the inputs and outputs.

    >>> resized(nn.Linear(2, 3, bias=False), Fraction(3, 2), Fraction(2))
    Linear(in_features=3, out_features=6, bias=False)
    """
    first = next(module.parameters(), None)
    where: dict[str, Any] = {} if first is None else {"device": first.device, "dtype": first.dtype}
    new: nn.Module
    if isinstance(module, BATCH_NORMS):
        new = _batch_norm(module, inputs, where)
    elif isinstance(module, nn.LayerNorm):
        new = _layer_norm(module, inputs, where)
    elif isinstance(module, EMBEDDINGS):
        new = _embedding(module, outputs, where)
    elif isinstance(module, nn.Linear):
        new = _linear(module, inputs, outputs, where)
    elif isinstance(module, CONVOLUTIONS):
        new = _convolution(module, inputs, outputs, where)
    else:
        new = _recurrent(module, inputs, outputs, where)
    return new.train(module.training)


def _linear(m: Any, inputs: Fraction, outputs: Fraction, where: dict[str, Any]) -> nn.Module:
    sizes = _times(m.in_features, inputs), _times(m.out_features, outputs)
    return nn.Linear(*sizes, bias=m.bias is not None, **where)


def _convolution(m: Any, inputs: Fraction, outputs: Fraction, where: dict[str, Any]) -> Any:
    sizes = _times(m.in_channels, inputs), _times(m.out_channels, outputs)
    return type(m)(
        *sizes, m.kernel_size, m.stride, m.padding, m.dilation, bias=m.bias is not None,
        padding_mode=m.padding_mode, **where,
    )  # fmt: skip


def _batch_norm(m: Any, inputs: Fraction, where: dict[str, Any]) -> Any:
    size = _times(m.num_features, inputs)
    return type(m)(size, m.eps, m.momentum, m.affine, m.track_running_stats, **where)


def _embedding(m: Any, outputs: Fraction, where: dict[str, Any]) -> Any:
    size = _times(m.embedding_dim, outputs)
    bag = isinstance(m, nn.EmbeddingBag)
    more = {"mode": m.mode, "include_last_offset": m.include_last_offset} if bag else {}
    return type(m)(
        m.num_embeddings, size, max_norm=m.max_norm, norm_type=m.norm_type,
        scale_grad_by_freq=m.scale_grad_by_freq, sparse=m.sparse, padding_idx=m.padding_idx,
        **more, **where,
    )  # fmt: skip


def _layer_norm(m: Any, inputs: Fraction, where: dict[str, Any]) -> Any:
    shape = (*m.normalized_shape[:-1], _times(m.normalized_shape[-1], inputs))
    return nn.LayerNorm(shape, m.eps, m.elementwise_affine, m.bias is not None, **where)


def _recurrent(m: Any, inputs: Fraction, outputs: Fraction, where: dict[str, Any]) -> Any:
    kind = {"nonlinearity": m.nonlinearity} if isinstance(m, nn.RNN) else {}
    sizes = _times(m.input_size, inputs), _times(m.hidden_size, outputs)
    return type(m)(
        *sizes, m.num_layers, bias=m.bias, batch_first=m.batch_first, dropout=m.dropout,
        bidirectional=m.bidirectional, **kind, **where,
    )  # fmt: skip


def _times(size: int, scale: Fraction) -> int:
    grown = size * scale
    if grown.denominator != 1:
        raise ValueError(f"{size} inputs do not come from whole units")
    return int(grown)
