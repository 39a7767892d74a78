"""The names of torch's functions and modules by what they do: activations, layers, norms."""

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
ACTIVATION_MODULES = (
    nn.ReLU, nn.LeakyReLU, nn.RReLU, nn.PReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish,
    nn.Sigmoid, nn.Tanh, nn.Softplus, nn.Hardtanh, nn.Hardswish, nn.Hardsigmoid, nn.Softsign,
    nn.Threshold, nn.Tanhshrink, nn.LogSigmoid, nn.Softmax, nn.LogSoftmax, nn.Softmin, nn.Softmax2d,
)  # fmt: skip
# These move values or change their type. `get` reads an attribute, as in x.T.
TRANSPOSING = frozenset({
    "transpose", "permute", "t", "get", "movedim", "moveaxis", "swapaxes", "swapdims",
})  # fmt: skip
MOVING = TRANSPOSING | {
    "view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "squeeze",
    "unsqueeze", "expand", "expand_as", "contiguous", "clone", "getitem", "narrow", "select",
    "chunk", "split", "unbind", "float", "double", "half", "bfloat16", "to", "type_as", "type",
}  # fmt: skip
NORMS = frozenset({
    "batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "normalize",
    "local_response_norm",
})  # fmt: skip
# A norm that is written by hand divides a signal by a statistic of it.
DIVIDING = frozenset({"div", "truediv", "divide", "true_divide", "rsqrt", "pow"})
REDUCING = frozenset({
    "sum", "mean", "std", "std_mean", "var", "var_mean", "amax", "norm", "vector_norm",
    "linalg_norm", "linalg_vector_norm",
})  # fmt: skip
CONVOLUTIONS = {f"conv{middle}{dims}d": dims for middle in ("", "_transpose") for dims in (1, 2, 3)}
SEQUENTIAL = frozenset({
    "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell",
    "rnn_relu_cell", "multi_head_attention_forward", "scaled_dot_product_attention", "embedding",
    "embedding_bag",
})  # fmt: skip
LAYERS = SEQUENTIAL | CONVOLUTIONS.keys() | {"linear", "bilinear", "addmm"}
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
TRANSFORMERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
PLAIN_RECURRENT = (nn.RNN, nn.RNNCell)


def bare_name(function: Any) -> str:
    """Return the bare name of a function: `relu` for `F.relu`, `torch.relu_` and `Tensor.relu`."""
    return _name(function).strip("_")


def writes_in_place(function: Any) -> bool:
    """Tell by its name whether a function changes its argument.

    >>> writes_in_place("relu_"), writes_in_place("relu"), writes_in_place("__add__")
    (True, False, False)
    """
    name = _name(function)
    return name.endswith("_") and not name.endswith("__")


def is_from_torch(module_class: type[nn.Module]) -> bool:
    """Return whether a module is torch's own, so that its insides are known."""
    return module_class.__module__.startswith("torch.nn.")


def _name(function: Any) -> str:
    return str(function if isinstance(function, str) else getattr(function, "__name__", ""))
