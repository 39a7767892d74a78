"""Whether targets stand in the inputs."""

from math import nan

import torch
from torch import Tensor, nn

FEW = 4  # samples needed to tell a copy from a coincidence
EQUAL = 1e-5  # largest difference of copies
SOME, WIDEST = 4, 4096  # columns of targets, and of inputs, that are compared


def repeated(tokens: Tensor, targets: Tensor, ahead: int = 0) -> float:
    """Return the share of targets that are the tokens `ahead` of their places, NaN if unknown.

    Of either, only the first ones may be known.

    >>> tokens = torch.tensor([[3, 1, 2], [5, 6, 7]])
    >>> repeated(tokens, torch.tensor([3, 1, 4])), repeated(tokens, torch.tensor([1, 2, 9]), 1)
    (0.6666666666666666, 1.0)
    """
    length = tokens.shape[1]
    count = min(tokens.numel(), targets.numel())
    if tokens.ndim != 2 or targets.is_floating_point() or count % length or length < 2 + ahead:
        return nan
    given = tokens.reshape(-1)[:count].reshape(-1, length)[:, ahead:]
    wanted = targets.reshape(-1)[:count].reshape(-1, length)[:, : length - ahead]
    return float((given == wanted).double().mean())


class Copies:
    """Compares the columns of inputs and targets, over several batches if these are small."""

    def __init__(self, model: nn.Module) -> None:
        recurrent = [each for each in model.modules() if isinstance(each, nn.RNNBase)]
        self._forward = len(recurrent) == 1 and not recurrent[0].bidirectional
        self._equal: Tensor | None = None
        self._first: Tensor | None = None
        self._varies: Tensor | None = None
        self._samples = 0

    def share(self, inputs: Tensor, targets: Tensor) -> float:
        """Return the share of target columns that also stand in the inputs, NaN if unknown.

        Targets as large as the inputs, as those of an autoencoder, are copies by design, unless
        the model is one recurrent layer that answers at every place.

        >>> inputs = torch.arange(24.0).reshape(8, 3)
        >>> of = [inputs[:, 2], inputs[:, 2] ** 2, inputs]
        >>> [Copies(nn.Linear(3, 1)).share(inputs, targets) for targets in of]
        [1.0, 0.0, nan]
        >>> places = inputs.reshape(4, 2, 3)
        >>> Copies(nn.GRU(3, 3, batch_first=True)).share(places, places)
        1.0
        """
        samples = len(inputs) if inputs.ndim and targets.ndim else 0
        if not samples or not inputs.is_floating_point() or samples != len(targets):
            return nan
        if self._forward and inputs.ndim == 3 and inputs.shape == targets.shape:
            return float(bool((inputs - targets).abs().amax() < EQUAL)) if samples >= FEW else nan
        if inputs.is_sparse or 2 * targets.numel() > inputs.numel():
            return nan
        given, wanted = inputs.reshape(samples, -1), targets.reshape(samples, -1)[:, :SOME]
        if given.shape[1] > WIDEST:
            return nan
        return self._shared(given, wanted)

    def _shared(self, given: Tensor, wanted: Tensor) -> float:
        equal = (given[:, :, None] - wanted[:, None]).abs().amax(0) < EQUAL
        if self._equal is None or self._equal.shape != equal.shape:
            self._equal, self._first, self._samples = equal, wanted[0].clone(), 0
            self._varies = torch.zeros_like(equal[0])
        assert self._first is not None
        assert self._varies is not None
        self._equal = self._equal & equal
        self._varies = self._varies | (wanted != self._first).any(0)
        self._samples += len(given)
        if self._samples < FEW or not bool(self._varies.any()):
            return nan
        return float(self._equal.any(0)[self._varies].double().mean())
