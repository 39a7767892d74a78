"""Tell whether a model sees the later places of a sequence where it answers at an earlier one."""

from torch import Tensor

from sickbay.probe.trial import Trial

PLACES = 4  # of a sequence, at least
SEEN = 1e-4  # of the largest answer: what rounding does not reach


def sees_ahead(trial: Trial, dim: int = 1, shown: Tensor | None = None) -> bool:
    """Return whether earlier answers depend on later places of an input, in dimension `dim`.

    It is the one to be `shown`, of `trial.inputs`, or else the last one that has places.

    >>> import torch
    >>> rnn = [torch.nn.GRU(3, 4, batch_first=True, bidirectional=each) for each in (False, True)]
    >>> inputs = torch.randn(32, 5, 3, generator=torch.Generator().manual_seed(0))
    >>> [sees_ahead(Trial.of(each, (inputs,), {})) for each in rnn]
    [False, True]
    """
    asked = trial.inputs if shown is None else [shown]
    rows = [each for each in asked if each.ndim > dim and each.shape[dim] >= PLACES]
    if not rows or trial.first is None:
        return False
    shown = rows[-1]
    length = shown.shape[dim]
    cut = length // 2
    while cut > 1 and _is_alike(shown.narrow(dim, cut, length - cut)):  # all are padding there
        cut //= 2

    def with_others(inputs: Tensor) -> Tensor:
        new = inputs.clone()
        if inputs is shown:
            later = new.narrow(dim, cut, length - cut)
            later.copy_(later.roll(1, 0))
        return new

    found = trial.answer(with_others)
    if found is None or found.shape != trial.first.shape:
        return False
    moved = by_place(found - trial.first, len(shown), length)
    if moved is None:
        return False
    return bool(moved[:, :cut].abs().max() > SEEN * trial.first.abs().max())


def _is_alike(values: Tensor) -> bool:
    """Return whether all samples have the same values."""
    return bool((values == values[:1]).all())


def by_place(answers: Tensor, count: int, length: int) -> Tensor | None:
    """Return answers as samples by places by values, None if they have no places.

    >>> import torch
    >>> by_place(torch.ones(6, 5), 2, 3).shape, by_place(torch.ones(2, 5, 3), 2, 3).shape
    (torch.Size([2, 3, 5]), torch.Size([2, 3, 5]))
    """
    shape = tuple(answers.shape)
    if shape[:2] == (count, length) or (len(shape) == 2 and shape[0] == count * length):
        return answers.reshape(count, length, -1)
    if len(shape) == 3 and (shape[0], shape[2]) == (count, length):
        return answers.transpose(1, 2)
    return None
