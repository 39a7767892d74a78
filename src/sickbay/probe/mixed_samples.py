"""Tell whether a model mixes its samples: whether an answer depends on where its sample stands.

Statistics of a batch, and attention over a set of samples, do not know the order of the samples.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.probe.hooks import can_be_hooked
from sickbay.probe.loss_graph import NODES, nodes, shape_of, unmoved
from sickbay.probe.trial import Trial, divisors

FAR = 0.1  # of the spread of the answers: what rounding and the like do not reach
SPREAD = 1e-5  # of the size of the answers: less is none
SEQUENTIAL = nn.RNNBase, nn.MultiheadAttention  # layers that take one sequence or several
ATTENTION = nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer


def mixes_samples(trial: Trial) -> bool:
    """Return whether the first dimension has the samples, and the model mixes them.

    >>> inputs = torch.randn(32, 5, 3, generator=torch.Generator().manual_seed(0))
    >>> class Last(nn.Module):
    ...     def __init__(self, batch_first):
    ...         super().__init__()
    ...         self.rnn = nn.GRU(3, 4, batch_first=batch_first)
    ...     def forward(self, x):
    ...         return self.rnn(x)[0][:, -1]
    >>> [mixes_samples(Trial.of(Last(each), (inputs,), {})) for each in (True, False)]
    [False, True]
    """
    answers, main = trial.first, trial.inputs[0]
    count = len(main)
    if answers is None or not answers.ndim or len(answers) % count or _is_flat(answers):
        return False
    half = trial.answer(lambda inputs: inputs[: count // 2].clone())
    if half is None or len(half) * count != len(answers) * (count // 2):
        return False  # the first dimension has something else
    if half.shape[1:] != answers.shape[1:]:
        return False  # each sample is compared with all
    if _follows(trial, 0, _shuffled(count)):
        return _attends_to_samples(trial) and not _second_is_apart(trial)
    again = trial.answer(seed=1)
    if again is None or not torch.equal(again, answers):  # it draws random numbers, or has a state
        return False
    if _second_is_apart(trial) or any(_follows(trial, 0, each) for each in _structured(count)):
        return False
    return not any(each for each in _observed(trial, nn.Module, _is_lonely))


def regroups(model: nn.Module, node: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a model has sequences, or computes with other rows than its output has.

    `node` is that of the output, and `shape` its shape.

    >>> import torch
    >>> layer = nn.Linear(3, 2)
    >>> [regroups(layer, layer(torch.ones(each)).grad_fn, each) for each in ((4, 3), (4, 5, 3))]
    [False, True]
    """
    if any(isinstance(each, SEQUENTIAL) for each in model.modules()):
        return True
    graph = nodes(node, most=NODES)
    own = (each for each in graph if not hasattr(unmoved(each), "variable"))
    return len(graph) <= NODES and any(shape_of(each)[:1] not in ((), shape[:1]) for each in own)


def _is_flat(answers: Tensor) -> bool:
    """Return whether the samples get the same answer, as from an output layer of zeros."""
    spread = (answers - answers.mean(0)).square().mean()
    return bool(spread <= SPREAD**2 * answers.square().mean())


def _follows(trial: Trial, dim: int, order: Tensor) -> bool:
    """Return whether the answers come in another order with the rows, and stay the same."""
    answers, size = trial.first, len(order)
    assert answers is not None

    def reorder(inputs: Tensor) -> Tensor:
        has = inputs.ndim > dim and inputs.shape[dim] == size
        return inputs.index_select(dim, order.to(inputs.device)) if has else inputs.clone()

    found = trial.answer(reorder)
    if found is None or found.shape != answers.shape:
        return False
    spread = (answers - answers.mean(0)).square().mean().sqrt()
    expected = _reordered(answers, order.to(answers.device))
    return any(bool((found - each).square().mean().sqrt() <= FAR * spread) for each in expected)


def _reordered(answers: Tensor, order: Tensor) -> Iterator[Tensor]:
    """Yield the answers in another order, for each way in which they may hold the rows."""
    size = len(order)
    for dim in range(answers.ndim):
        if answers.shape[dim] == size:
            yield answers.index_select(dim, order)
    if len(answers) % size == 0 and len(answers) != size:  # places and samples in one
        rows = answers.reshape(size, -1, *answers.shape[1:])
        yield rows.index_select(0, order).reshape(answers.shape)
        rows = answers.reshape(-1, size, *answers.shape[1:])
        yield rows.index_select(1, order).reshape(answers.shape)


def _shuffled(count: int) -> Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(1))


def _structured(count: int) -> Iterator[Tensor]:
    """Yield orders that keep groups of neighbours, or of samples equally far apart, together.

    The frames of films may come as one batch, and groups of samples are compared by design.
    """
    for size in divisors(count):
        rows = torch.arange(count).reshape(-1, size)
        yield rows.roll(1, 0).reshape(-1)
        yield rows.roll(1, 1).reshape(-1)


def _second_is_apart(trial: Trial) -> bool:
    """Return whether the second dimension may have the samples: the first is time then."""
    main = trial.inputs[0]
    size = main.shape[1] if main.ndim > 1 else 1
    return size > 1 and _follows(trial, 1, _shuffled(size))


def _attends_to_samples(trial: Trial) -> bool:
    """Return whether all attention of torch's own runs over the samples."""
    if not any(isinstance(each, ATTENTION) for each in trial.model.modules()):
        return False
    across = _observed(trial, ATTENTION, partial(_is_across, len(trial.inputs[0])))
    return bool(across) and all(across)


def _is_across(count: int, module: nn.Module, inputs: Tensor) -> bool:
    own = getattr(module, "self_attn", module)
    first = inputs.shape[0] == count != inputs.shape[1] if inputs.ndim == 3 else False
    return first and not getattr(own, "batch_first", True)


def _is_lonely(module: nn.Module, inputs: Tensor) -> bool:
    """Return whether a layer gets one sample: the rows of the batch are its places then."""
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) or any(module.children()):
        return False
    if isinstance(module, SEQUENTIAL):
        return inputs.ndim == 2 or inputs.shape[int(not module.batch_first)] == 1
    kernel = getattr(module, "kernel_size", None)
    unbatched = isinstance(kernel, tuple) and inputs.ndim == len(kernel) + 1
    return inputs.ndim == 1 or unbatched or inputs.shape[0] == 1


def _observed(trial: Trial, kinds: Any, judge: Callable[[nn.Module, Tensor], bool]) -> list[bool]:
    """Return a verdict on the inputs of each layer of these kinds, as the model answers."""
    found: list[bool] = []

    def note(module: nn.Module, args: Any, kwargs: Any) -> None:
        tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
        found.extend(judge(module, each) for each in tensors[:1] if each.ndim)

    layers = [each for each in trial.model.modules() if isinstance(each, kinds)]
    hooks = [
        each.register_forward_pre_hook(note, with_kwargs=True)
        for each in layers
        if can_be_hooked(each)
    ]
    trial.answer()
    for hook in hooks:
        hook.remove()
    return found
