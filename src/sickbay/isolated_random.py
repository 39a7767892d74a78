"""Isolate random numbers: draw them without moving anyone else's generators."""

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Generator, nn
from torch.utils.data import DataLoader


def torch_generators() -> tuple[Generator, ...]:
    """Return torch's global generators: that of the CPU, and those of CUDA if it is in use."""
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return (torch.default_generator, *(torch.cuda.default_generators if in_use else ()))


def loader_generators(loader: DataLoader[Any]) -> set[Generator]:
    """Return the generators that a DataLoader and its samplers hold."""
    holders = (loader, loader.sampler, getattr(loader.batch_sampler, "sampler", None))
    return {found for holder in holders if (found := getattr(holder, "generator", None))}


class IsolatedRandom:
    """Random numbers of torch, numpy and `random` that leave the global states untouched.

    They start from `seed`, or from the current states if there is none. Entering again continues
    where the last block ended. CUDA is included if it was in use when this was created.

    >>> with IsolatedRandom(1):
    ...     first = torch.rand(3), np.random.rand(), random.random()
    >>> with IsolatedRandom(1):
    ...     first[0].equal(torch.rand(3)), first[1:] == (np.random.rand(), random.random())
    (True, True)
    """

    def __init__(self, seed: int | None = None, *generators: Generator) -> None:
        self._generators = (*torch_generators(), *generators)
        self._states = self._current() if seed is None else self._seeded(seed)

    def __enter__(self) -> None:
        (states, numpy_state, python_state), self._states = self._states, self._current()
        for generator, state in zip(self._generators, states, strict=True):
            generator.set_state(state)
        np.random.set_state(numpy_state)
        random.setstate(python_state)

    def __exit__(self, *_: object) -> None:
        self.__enter__()

    def _current(self) -> Any:
        states = [generator.get_state() for generator in self._generators]
        return states, np.random.get_state(), random.getstate()

    def _seeded(self, seed: int) -> Any:
        states = [Generator(own.device).manual_seed(seed).get_state() for own in self._generators]
        numpy_state = np.random.RandomState(seed % 2**32).get_state()
        return states, numpy_state, random.Random(seed).getstate()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluate a model without gradients; restore its modes and all random states afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad(), IsolatedRandom(0), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Using a target size")  # shape_broadcast reports it
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training
