"""Random numbers of one's own, so that nobody else's are drawn."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Generator, nn
from torch.utils.data import DataLoader


def generators() -> tuple[Generator, ...]:
    """Return torch's own generators: that of the CPU, and those of CUDA if it is in use."""
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    others = torch.cuda.default_generators if used else ()
    return (torch.default_generator, *others)


def generators_of(loader: DataLoader[Any]) -> set[Generator]:
    """Return the generators of its own that a DataLoader draws from."""
    holders = (loader, loader.sampler, getattr(loader.batch_sampler, "sampler", None))
    return {found for each in holders if (found := getattr(each, "generator", None))}


class Chance:
    """Random numbers of its own: what is drawn inside is the same for a seed, and moves no others.

    That is of torch, numpy and `random`. It goes on where it was when it is entered again. On CUDA
    it holds where CUDA was in use when it was made.

    >>> with Chance(1):
    ...     first = torch.rand(3), np.random.rand(), random.random()
    >>> with Chance(1):
    ...     first[0].equal(torch.rand(3)), first[1:] == (np.random.rand(), random.random())
    (True, True)
    """

    def __init__(self, seed: int, *more: Generator) -> None:
        self._generators = (*generators(), *more)
        states = [Generator(each.device).manual_seed(seed).get_state() for each in self._generators]
        numbers = np.random.RandomState(seed % 2**32).get_state()
        self._kept: Any = states, numbers, random.Random(seed).getstate()

    def __enter__(self) -> None:
        (states, numbers, plain), own = self._kept, self._generators
        self._kept = [each.get_state() for each in own], np.random.get_state(), random.getstate()
        for generator, state in zip(own, states, strict=True):
            generator.set_state(state)
        np.random.set_state(numbers)
        random.setstate(plain)

    def __exit__(self, *_: object) -> None:
        self.__enter__()


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluate a model: no gradients, and modes and random numbers as they were in the end."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad(), Chance(0), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Using a target size")  # there is a problem for it
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training
