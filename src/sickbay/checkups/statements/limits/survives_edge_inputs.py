"""Longer than 60 lines: outputs, gradients and padding are checked in different ways."""

from collections.abc import Iterator
from math import isfinite
from typing import Any

import torch
from torch import Tensor, nn

from sickbay.checkups.base import Inapplicable, ModelSetup, Result, Statement, dataclass, threshold
from sickbay.checkups.batch import Batch
from sickbay.checkups.training_passes import first_pass

SAMPLES = 2


@dataclass(frozen=True, kw_only=True)
class SurvivesEdgeInputs(Statement):
    """Inputs that are zero, constant, tiny or large give finite outputs and gradients.

    Why it matters:
        One empty image among a million turns all weights into NaN.

    How it is tested:
        One sample is changed. In evaluation: to zeros, to ones, and scaled down and up; for tokens,
        to zeros, to a single token, and to the last known token. In training: the gradients for
        zeros and for ones. A sample of only padding tokens may fail if it works with a single other
        token.
    """

    order = 1
    remedy = "add eps inside sqrt, log and division, as in x / (x.norm() + 1e-6)"
    large: float = threshold(20.0, "Factor that makes inputs large.", above=1)

    def examine(self, setup: ModelSetup) -> Result:
        if not setup.first_pass.output.isfinite().all():
            raise Inapplicable("the output for the batch as given is not finite")
        batch = setup.batch.first_if_separate(SAMPLES)
        main = batch.main
        one = _one_sample(batch)
        for name, edge in self._edges(setup, main[one]):
            changed = main.clone()
            changed[one] = edge
            constant = bool((edge == edge.flatten()[0]).all())
            if problem := _problem(setup, batch.with_input(main, changed), constant):
                one_token = changed.clone()
                one_token[(*one, ..., 0)] = main.max()
                padding = not main.is_floating_point() and main.ndim > 1 and not edge.any()
                if not padding or _problem(setup, batch.with_input(main, one_token), False):
                    return self.fails(f"inputs that are {name} {problem}")
        return self.holds("zero, constant and extreme inputs gave finite outputs and gradients")

    def _edges(self, setup: ModelSetup, main: Tensor) -> Iterator[tuple[str, Tensor]]:
        yield "all zero", torch.zeros_like(main)
        if main.is_floating_point():
            yield "all one", torch.ones_like(main)
            yield "tiny", main * 1e-6
            yield f"{self.large:g} times as large", main * self.large
        elif main.dtype != torch.bool and (tokens := _vocabulary(setup)) is not None:
            yield "one token repeated", torch.full_like(main, int(main.max()))
            yield f"the last token, {tokens - 1},", torch.full_like(main, tokens - 1)


def _one_sample(batch: Batch) -> tuple[Any, ...]:
    """Return the place of the first sample in the main input, or of all if there is only one."""
    if batch.main.ndim < 2 or batch.main.shape[batch.sample_dim] < 2:
        return (slice(None),)
    return (*[slice(None)] * batch.sample_dim, 0)


def _vocabulary(setup: ModelSetup) -> int | None:
    """Return the size of the first embedding that gets the input itself, None if there is none."""
    main = setup.batch.main
    for layer, args in setup.layer_calls(setup.batch, nn.Embedding):
        if args and args[0].shape == main.shape and torch.equal(args[0], main):
            return layer.num_embeddings
    return None


def _problem(setup: ModelSetup, batch: Batch, constant: bool) -> str:
    """Return what is not finite, "" if all is or the model does not run for another reason."""
    with setup.model_copy() as model:
        if not batch.main.is_floating_point():  # on a GPU an unknown token ends the process
            model, batch = model.cpu(), batch.to(torch.device("cpu"))
        try:
            output = setup.evaluate(batch, model)
        except IndexError as error:
            return f"raise {type(error).__name__}: {error}"
        except Exception:
            return ""
        if not output.isfinite().all():
            return "give outputs that are NaN or Inf"
    if not constant:
        return ""
    with setup.model_copy(training=True) as model:
        try:
            gradients = first_pass(model, batch, setup.run, setup.loss_of).gradients
        except Exception:
            return ""
    for name, gradient in gradients.items():
        if gradient is not None and not isfinite(gradient):
            return f"give a gradient of {name} that is NaN or Inf"
    return ""
