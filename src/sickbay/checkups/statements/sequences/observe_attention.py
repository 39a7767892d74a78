"""Observing attention: which weights multiply the values, and how they were computed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sickbay.checkups.base import ModelSetup
from sickbay.model_copies import tensors_in

BUILT_IN = (
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
)
PRODUCTS = ("matmul", "__matmul__", "bmm", "einsum")
MULTIPLICATIONS = ("mul", "mul_", "__mul__", "__rmul__", "__imul__", "multiply")
DIVISIONS = ("div", "div_", "__truediv__", "__itruediv__", "true_divide")
ELEMENTWISE = (  # operations after which scores are still scores
    *MULTIPLICATIONS,
    *DIVISIONS,
    *("add", "add_", "__add__", "__radd__", "__iadd__", "sub", "sub_", "__sub__", "__isub__"),
    *("masked_fill", "masked_fill_", "where", "dropout", "to", "float", "type_as", "contiguous"),
    *("view", "reshape", "transpose", "permute", "swapaxes", "unsqueeze", "squeeze", "flatten"),
    *("__get__", "clone", "nan_to_num"),
)
MARK = "_sickbay_mark"
SLACK = 0.01  # by which a sum of weights may differ from one
SINGLE = "the softmax runs over a dimension of size one, so every weight is one"


@dataclass(frozen=True)
class Mark:
    """What is known about a tensor."""

    fixed: bool = False  # computed from parameters alone
    scores: bool = False  # computed from a product of two tensors that were not
    queries: bool = False  # that product compares rows with rows, as queries with keys
    soft: bool = False  # a softmax or exponential was applied since
    single: bool = False  # that softmax had only one value to choose from
    weighted: bool = False  # a matrix, or the number of keys, takes the softmax's place


@dataclass(frozen=True)
class Weights:
    """Attention weights as they multiply the values; `fault` is "" if they are right."""

    shape: tuple[int, ...]
    fault: str
    total: float = 1.0


class Attention(TorchFunctionMode):
    """Observes the attention of everything that runs within.

    Attributes:
        own: The weights of attention that the model computes itself.
        built_in: How often torch's own attention ran.
        dropped: How often that dropped weights.
        broken: The function that raised when given scores or a mask, "" if none.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._fixed = {id(each) for each in (*model.parameters(), *model.buffers())}
        self.own: list[Weights] = []
        self.built_in = self.dropped = 0
        self.broken = ""

    @property
    def seen(self) -> bool:
        return bool(self.built_in or self.own)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        given = tensors_in([args, kwargs])
        try:
            result = func(*args, **kwargs)
        except Exception:
            scores = any(self._mark(each).scores for each in given)
            if name in BUILT_IN or (name in ELEMENTWISE and scores):
                self.broken = name
            raise
        if name in BUILT_IN:
            self.built_in += 1
            third = args[4] if len(args) > 4 else 0.0
            if name == BUILT_IN[0] and kwargs.get("dropout_p", third) > 0:
                self.dropped += 1
        elif isinstance(result, Tensor):
            new = self._after(name, args, kwargs, given, result)
            if new is not None and id(result) not in self._fixed:
                setattr(result, MARK, new)
        return result

    def _mark(self, tensor: Tensor) -> Mark:
        known = getattr(tensor, MARK, None)
        return known if known is not None else Mark(fixed=id(tensor) in self._fixed)

    def _after(
        self, name: str, args: Any, kwargs: Any, given: list[Tensor], result: Tensor
    ) -> Mark | None:
        """Return what is known about a result."""
        marks = [self._mark(each) for each in given]
        if not marks:
            return None
        if all(each.fixed for each in marks):
            return Mark(fixed=True)
        if name in PRODUCTS and len(given) == 2:
            return self._product(args[0] if name == "einsum" else "", given, marks)
        if name == "log_softmax":
            return replace(marks[0], soft=True)
        if name == "softmax":
            dim = kwargs.get("dim", next((each for each in args[1:] if type(each) is int), -1))
            others = [*given[0].shape]
            alone = others.pop(dim) == 1 and any(each > 1 for each in others[1:])
            return replace(marks[0], soft=True, single=alone and not marks[0].scores)
        at = next((i for i, each in enumerate(marks) if each.scores or each.soft), None)
        if at is None:
            return None
        mark, tensor = marks[at], given[at]
        if name in MULTIPLICATIONS and mark.single and not _is_lone(tensor):
            self.own.append(Weights(tuple(tensor.shape), SINGLE))
        if name == "exp" or (name == "sigmoid" and mark.queries):
            return replace(mark, soft=True)
        if name not in ELEMENTWISE or result.numel() != tensor.numel():
            return None
        return replace(mark, weighted=mark.weighted or _weights_scores(name, args, tensor))

    def _product(self, equation: Any, given: list[Tensor], marks: list[Mark]) -> Mark | None:
        if any(each.fixed for each in marks):
            return None
        judged = [i for i, each in enumerate(marks) if each.scores or each.single]
        if not judged:
            queries = bool(equation) or _is_flipped(given[1])
            # An average of values, as linear attention makes of keys and values, is no score.
            return Mark(scores=True, queries=queries and not any(each.soft for each in marks))
        at = judged[0]
        summed = _summed(equation, at, given[at].ndim)
        if summed and (marks[at].soft or at == 0):
            self._judge(given[at].detach(), marks[at], summed)
        return None

    def _judge(self, weights: Tensor, mark: Mark, summed: Sequence[int]) -> None:
        shape = tuple(weights.shape)
        if mark.single:
            if not _is_lone(weights):
                self.own.append(Weights(shape, SINGLE))
            return
        total = weights.float().sum(list(summed))
        off = (total - 1).abs()
        off = off[off.isfinite() & (total != 0)]  # a row that is fully masked sums to zero
        worst = float(off.max()) if off.numel() else 0.0
        if worst <= SLACK:
            self.own.append(Weights(shape, ""))
        elif mark.soft:
            self.own.append(Weights(shape, _why(weights, summed), 1 + worst))
        elif mark.queries and not mark.weighted and shape[-1] == shape[-2] and weights.min() < 0:
            self.own.append(Weights(shape, "no softmax is applied to the scores", 1 + worst))


def _is_flipped(matrix: Tensor) -> bool:
    if matrix.layout != torch.strided or matrix.ndim < 2:
        return False
    return matrix.shape[-1] > 1 and matrix.stride(-1) != 1


def _is_lone(weights: Tensor) -> bool:
    """Return whether there is only one thing to attend to, as in a choice among one variable."""
    return weights.shape[-2:] == (1, 1)


def _weights_scores(name: str, args: Any, scores: Tensor) -> bool:
    """Return whether scores are weighted by a matrix (retention) or averaged over the keys."""
    if name not in (*MULTIPLICATIONS, *DIVISIONS) or len(args) < 2:
        return False
    by = args[1] if args[0] is scores else args[0]
    if isinstance(by, Tensor):
        return by.ndim > 0 and by.shape[-1] > 1
    return name in DIVISIONS and by == scores.shape[-1]


def _why(weights: Tensor, summed: Sequence[int]) -> str:
    """Return what the weights do instead of summing to one over the keys."""
    for dim in range(weights.ndim):
        one = bool(((weights.float().sum(dim) - 1).abs() <= SLACK).all())
        if one and weights.shape[dim] > 1 and [dim] != list(summed):
            return f"they sum to one over dimension {dim}, not over the keys"
    for first in range(weights.ndim - 1):
        together = weights.float().flatten(first).sum(-1)
        if bool(((together - 1).abs() <= SLACK).all()):
            return f"the softmax runs over all dimensions from {first} on, not over the keys alone"
    return "they were changed after the softmax, perhaps by a mask or by dropout in evaluation"


def _summed(equation: Any, which: int, dimensions: int) -> list[int]:
    """Return the dimensions of an operand that a product sums over.

    >>> _summed("", 0, 3), _summed("", 1, 3), _summed("bhqk,bkhd->bqhd", 0, 4)
    ([2], [1], [3])
    """
    if not equation:
        return [dimensions - 1 - which]
    terms, arrow, kept = str(equation).replace(" ", "").partition("->")
    letters = terms.split(",")[which]
    if not arrow or ("." in letters and not letters.startswith("...")):
        return []
    letters = letters.replace("...", "")
    first = dimensions - len(letters)
    return [first + i for i, each in enumerate(letters) if each not in kept]


def observed_attention(setup: ModelSetup) -> Attention:
    """Return the attention seen in one pass in evaluation."""
    with setup.model_copy() as model:
        seen = Attention(model)
        with seen, torch.no_grad():
            setup.run(model, setup.batch)
    return seen
