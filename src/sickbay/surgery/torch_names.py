"""Which functions and modules are activations, layers and norms, by the names torch gives them."""

from __future__ import annotations

from typing import Any

from torch import nn

HIDDEN = frozenset({
    "relu", "relu6", "leaky_relu", "rrelu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish",
    "sigmoid", "tanh", "softplus", "hardtanh", "hardswish", "hardsigmoid", "softsign", "threshold",
    "tanhshrink", "log_sigmoid",
})  # fmt: skip
# At the end of a model these count as activations too; in its middle they do something else.
ACTIVATIONS = HIDDEN | {
    "softmax", "log_softmax", "softmin", "clamp", "clip", "clamp_min", "clamp_max",
}  # fmt: skip
MODULES = (
    nn.ReLU, nn.LeakyReLU, nn.RReLU, nn.PReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish,
    nn.Sigmoid, nn.Tanh, nn.Softplus, nn.Hardtanh, nn.Hardswish, nn.Hardsigmoid, nn.Softsign,
    nn.Threshold, nn.Tanhshrink, nn.LogSigmoid, nn.Softmax, nn.LogSoftmax, nn.Softmin, nn.Softmax2d,
)  # fmt: skip
# What moves values or changes their type, but leaves them as they are.
MOVING = frozenset({
    "view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "squeeze",
    "unsqueeze", "expand", "expand_as", "contiguous", "clone", "getitem", "narrow", "select",
    "chunk", "split", "unbind", "float", "double", "half", "bfloat16", "to", "type_as", "type",
})  # fmt: skip
TURNING = frozenset(
    {
        "transpose",
        "permute",
        "t",
        "get",
        "movedim",
        "moveaxis",
        "swapaxes",
        "swapdims",
    }
)  # fmt: skip  `get` is how an attribute is read: x.T
NORMS = frozenset({
    "batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "normalize",
    "local_response_norm",
})  # fmt: skip
CONVOLUTIONS = {f"conv{middle}{dims}d": dims for middle in ("", "_transpose") for dims in (1, 2, 3)}
SEQUENTIAL = frozenset({
    "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell",
    "rnn_relu_cell", "multi_head_attention_forward", "scaled_dot_product_attention", "embedding",
    "embedding_bag",
})  # fmt: skip
DENSE = frozenset({"linear", "bilinear", "addmm"})
TRANSFORMERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
PLAIN_RECURRENT = (nn.RNN, nn.RNNCell)


def title(function: Any) -> str:
    """Return the bare name of a function: `relu` for `F.relu`, `torch.relu_` and `Tensor.relu`."""
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    return str(name).strip("_")


def in_place(function: Any) -> bool:
    """Tell whether a function is one that changes its argument, by its name.

    >>> in_place("relu_"), in_place("relu"), in_place("__add__")
    (True, False, False)
    """
    name = str(function if isinstance(function, str) else getattr(function, "__name__", ""))
    return name.endswith("_") and not name.endswith("__")


def from_torch(kind: type[nn.Module]) -> bool:
    """Tell whether torch has written a module, so that its insides are known."""
    return kind.__module__.startswith("torch.nn.")
