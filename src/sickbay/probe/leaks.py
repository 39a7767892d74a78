"""Whether targets stand in the inputs."""

from math import isnan, nan

import torch
from torch import Tensor, nn

FEW = 4  # samples needed to tell a copy from a coincidence
EQUAL = 1e-5  # largest difference of copies
PLACES = 4  # of a sequence, at least
MOSTLY = 0.9  # share of targets that are the next token, if that is what is asked for
SOME, WIDEST = 4, 4096  # columns of targets, and of inputs, that are compared


def repeated(tokens: Tensor, targets: Tensor, ahead: int = 0) -> float:
    """Return the share of targets that are the tokens `ahead` of their places, NaN if unknown.

    Places where an ordinary target, the next token, is no other one tell nothing and do not count;
    nor do targets below 0, which no loss asks for. Of either, only the first ones may be known.

    >>> tokens = torch.tensor([[3, 1, 2, 4], [5, 6, 7, 8]])
    >>> targets = torch.tensor([[3, 1, 2, 9], [5, 6, 0, 9]])
    >>> repeated(tokens, targets), repeated(tokens, tokens.roll(-1, 1), 1)
    (0.8333333333333334, 1.0)
    """
    length = tokens.shape[1]
    count = min(tokens.numel(), targets.numel())
    if tokens.ndim != 2 or targets.is_floating_point() or count % length or length < 3:
        return nan
    given = tokens.reshape(-1)[:count].reshape(-1, length)
    wanted = targets.reshape(-1)[:count].reshape(-1, length)
    places = slice(1, -1) if ahead < 0 else slice(0, -1)
    shown, other = (given.roll(-each, 1)[:, places] for each in (ahead, 0 if ahead == 1 else 1))
    counted = (shown != other) & (wanted[:, places] >= 0)
    if 2 * int(counted.sum()) < len(given):
        return nan
    return float((shown == wanted[:, places])[counted].double().mean())


def next_values(inputs: Tensor, targets: Tensor) -> int:
    """Return the dimension along which the targets are the inputs of the next place, 0 if none.

    >>> series = torch.arange(24.0).reshape(2, 6, 2).sin()
    >>> next_values(series[:, :-1], series[:, 1:]), next_values(series[:, 1:], series[:, :-1])
    (1, 0)
    """
    if inputs.ndim < 2 or inputs.numel() != targets.numel() or not inputs.is_floating_point():
        return 0
    given, wanted = inputs.detach(), targets.detach().reshape(inputs.shape)
    for dim in range(1, inputs.ndim):
        length = inputs.shape[dim]
        if length < PLACES or not bool((given.narrow(dim, 0, 1) != given).any()):
            continue
        ahead = given.narrow(dim, 1, length - 1) - wanted.narrow(dim, 0, length - 1)
        if float(ahead.abs().amax()) < EQUAL:
            return dim
    return 0


class Leaks:
    """Compares targets with inputs: `leak` is the share of targets that stand there.

    `leak_ahead` says how many places later, where that is known, and `leak_is_whole` is 1 if the
    model may see all of the only input at every place, as an autoencoder does.
    """

    def __init__(self, model: nn.Module) -> None:
        self._copies = Copies(model)

    def of_tokens(
        self, tokens: Tensor, targets: Tensor, *, sees_ahead: bool, alone: bool
    ) -> dict[str, float]:
        """Return the scalars of rows of whole numbers; later ones count if the model sees them."""
        shares = {0: repeated(tokens, targets), -1: repeated(tokens, targets, -1)}
        if sees_ahead:
            shares[1] = repeated(tokens, targets, 1)
        known = {ahead: share for ahead, share in shares.items() if not isnan(share)}
        if not known:
            return {}
        ahead = max(known, key=known.__getitem__)
        whole = float(sees_ahead and alone and not ahead)
        return {"leak": known[ahead], "leak_ahead": float(ahead), "leak_is_whole": whole}

    def of_numbers(self, inputs: Tensor, targets: Tensor, *, sees_ahead: bool) -> dict[str, float]:
        """Return the scalars of measured values."""
        if sees_ahead and next_values(inputs, targets):
            return {"leak": 1.0, "leak_ahead": 1.0}
        found = {"leak": self._copies.share(inputs, targets)}
        return found | ({"leak_ahead": 0.0} if inputs.shape == targets.shape else {})


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
