"""Longer than 60 lines: outputs, gradients and padding are checked in different ways."""

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.statements.sequences.embedded_tokens import vocabulary
from sickbay.checkups.training_passes import first_pass
from sickbay.printable import error_summary

SAMPLES = 2
NOT_FINITE, UNKNOWN = "give", "raise IndexError"  # how grave problems begin
REFUSED = "are refused with"
REFUSALS = (ValueError, AssertionError, NotImplementedError)  # a model raises on purpose
HANDLE = "handle such a sample in the model, or leave it out of the data"


@dataclass(frozen=True, kw_only=True)
class SurvivesEdgeInputs(Statement):
    """Inputs that are zero, constant, tiny or large give finite outputs and gradients.

    Why it matters:
        One empty image among a million turns all weights into NaN.

    How it is tested:
        One sample is changed. In evaluation: to zeros, to ones, and scaled down and up; for tokens,
        to zeros, to a single token, and to the last known token. In training: the gradients for
        zeros and for ones. A sample of only padding tokens may fail if it works with a single other
        token. If the model raises, that is a warning; it may refuse tokens on purpose, and values
        outside the range of the batch, except tokens that its embedding lacks.
    """

    order = 1
    remedy = "add eps inside sqrt, log and division, as in x / (x.norm() + 1e-6)"
    large: float = threshold(20.0, "Factor that makes inputs large.", above=1)

    def examine(self, setup: ModelSetup) -> Result:
        if not setup.first_pass.output.isfinite().all():
            raise Inapplicable("the output for the batch as given is not finite")
        batch = setup.batch.first_if_separate(SAMPLES)
        if reason := _pass(setup, batch, training=False):
            raise Inapplicable(f"in evaluation, the samples as given {reason}")
        trains, finite, main, one = True, list[str](), batch.main, _one_sample(batch)
        for name, edge in self._edges(setup, main[one]):
            changed = _with_sample(batch, one, edge)
            problem = _pass(setup, changed, training=False)
            if trains and not problem and bool((edge == edge.flatten()[0]).all()):
                problem = _pass(setup, changed, training=True)
                if problem and _pass(setup, batch, training=True):  # so do the samples as given
                    trains, problem = False, ""
            if problem and _is_padding(main, edge):
                edge[..., 0] = main.max()
                problem = _pass(setup, _with_sample(batch, one, edge), training=False)
            if not problem:
                finite.append(name)
            elif problem.startswith((NOT_FINITE, UNKNOWN)):
                return self.fails(f"inputs that are {name} {problem}")
            elif problem.startswith(REFUSED):
                continue
            elif setup.batch.main.min() <= edge.min() and edge.max() <= setup.batch.main.max():
                result = self.fails(f"inputs that are {name} {problem}", remedy=HANDLE)
                return replace(result, severity="warning")
        if not finite:
            raise Inapplicable("the model takes no inputs but those given")
        what = "finite outputs and gradients" if trains else "finite outputs"
        return self.holds(f"inputs that are {' or '.join(finite)} gave {what}")

    def _edges(self, setup: ModelSetup, main: Tensor) -> Iterator[tuple[str, Tensor]]:
        yield "all zero", torch.zeros_like(main)
        if main.is_floating_point():
            yield "all one", torch.ones_like(main)
            yield "tiny", main * 1e-6
            yield f"{self.large:g} times as large", main * self.large
        elif main.dtype != torch.bool and (tokens := vocabulary(setup, setup.batch)) is not None:
            yield "one token repeated", torch.full_like(main, int(main.max()))
            yield f"the last token, {tokens - 1},", torch.full_like(main, tokens - 1)


def _one_sample(batch: Batch) -> tuple[Any, ...]:
    """Return the place of the first sample in the main input, or of all if there is only one."""
    if batch.main.ndim < 2 or batch.main.shape[batch.sample_dim] < 2:
        return (slice(None),)
    return (*[slice(None)] * batch.sample_dim, 0)


def _with_sample(batch: Batch, place: tuple[Any, ...], sample: Tensor) -> Batch:
    """Return the batch with another sample at a place of the main input."""
    changed = batch.main.clone()
    changed[place] = sample
    return batch.with_input(batch.main, changed)


def _is_padding(main: Tensor, edge: Tensor) -> bool:
    """Return whether a sample is nothing but the token that may be padding."""
    return not main.is_floating_point() and main.ndim > 1 and not edge.any()


def _pass(setup: ModelSetup, batch: Batch, *, training: bool) -> str:
    """Return what is not finite in a pass, or how it raises, "" if neither."""
    with setup.model_copy(training=training) as model:
        if not batch.main.is_floating_point():  # on a GPU an unknown token ends the process
            model, batch = model.cpu(), batch.to(torch.device("cpu"))
        try:
            if not training:
                output = setup.evaluate(batch, model)
                return (
                    "" if output.isfinite().all() else f"{NOT_FINITE} outputs that are NaN or Inf"
                )
            gradients = first_pass(model, batch, setup.run, setup.loss_of).gradients
        except Inapplicable:
            raise
        except Exception as error:
            if not batch.main.is_floating_point() and isinstance(error, REFUSALS):
                return f"{REFUSED} {error_summary(error)}"
            return f"raise {error_summary(error)}"
    wild = [name for name, each in gradients.items() if each is not None and not isfinite(each)]
    return f"{NOT_FINITE} a gradient of {wild[0]} that is NaN or Inf" if wild else ""
