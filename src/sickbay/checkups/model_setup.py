"""The model under test with its batch, loss and optimizer, and safe ways to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from sickbay import tasks
from sickbay.checkups.batch import Batch, Inapplicable
from sickbay.checkups.batch_forms import Reading, other_readings, uncut, without_unknown_labels
from sickbay.checkups.class_outputs import classes_second
from sickbay.checkups.given_setup import GivenSetup, Value, required
from sickbay.checkups.model_losses import (
    loss_by_function,
    loss_without_function,
    main_output,
    takes_whole_output,
)
from sickbay.checkups.restore_model import restored
from sickbay.checkups.reused_copies import ModelCopies
from sickbay.checkups.shared_state import FEWEST_SAMPLES, Outside, shares_state
from sickbay.checkups.synthetic_batch import synthetic_batch
from sickbay.checkups.training_passes import FirstPass, first_pass
from sickbay.errors import Declined
from sickbay.isolated_random import IsolatedRandom
from sickbay.model_copies import inputs_of
from sickbay.tasks import Task

MOST_SAMPLES = 16  # run in a pass; `FEWEST_SAMPLES` if a pass is slow
SHARED = "A copy would share layers with it, which a function holds."
QUICK = 0.15  # seconds that a pass with the most samples may take
Layer = TypeVar("Layer", bound=nn.Module)


class ModelSetup(GivenSetup):
    """A model to examine, with all that trains it. Nothing done with it lasts.

    `model` is the user's own and must only be read; tests run a `model_copy()`. Asking for
    something that was not given raises `Inapplicable`, so tests need not check first.
    """

    fixed_size = False  # whether the model runs only with the full batch
    reading = ""  # how the batch was read, "" if as the guide says
    copy_failure = ""  # why the model itself had to be run, "" if it could be copied

    @cached_property
    def restoring(self) -> ExitStack:
        """Closed at the end, which restores what is the user's."""
        return ExitStack()

    @cached_property
    def _copies(self) -> ModelCopies:
        return ModelCopies(self.model)

    @cached_property
    def _computed(self) -> dict[Callable[[ModelSetup], Any], Any]:
        return {}

    @contextmanager
    def model_copy(self, *, training: bool = False) -> Iterator[nn.Module]:
        """Yield a copy to change at will; if it cannot be copied, the model, restored later."""
        with ExitStack() as guard:
            if "full_batch" not in vars(self):  # so it is unknown what a copy would share
                guard.enter_context(restored(self.model))
            elif self._shares_state:
                self.copy_failure = SHARED
            model = self.model
            if not self.copy_failure:
                try:
                    model = guard.enter_context(self._copies.take())
                except Declined as error:
                    self.copy_failure = str(error)
            if model is self.model:
                guard.enter_context(restored(model))
            # By its own methods, as users do: they may be overridden.
            (model.train if training else model.eval)()
            yield model

    def once(self, function: Callable[[ModelSetup], Value]) -> Value:
        """Return `function(self)`, computed once for all tests."""
        if function not in self._computed:
            self._computed[function] = function(self)
        found: Value = self._computed[function]
        return found

    def run(self, model: nn.Module, batch: Batch) -> Any:
        """Call a model with a copy of a batch."""
        if self.fixed_size and batch.size != self.full_batch.size:
            raise Inapplicable(f"the model only runs with {self.full_batch.size} samples")
        args, kwargs = inputs_of((batch.args, dict(batch.kwargs)))
        return model(*args, **kwargs)

    def evaluate(self, batch: Batch, model: nn.Module | None = None) -> Tensor:
        """Return the main output without gradients, of a new copy in evaluation by default."""
        if model is None:
            with self.model_copy() as model:
                return self.evaluate(batch, model)
        with torch.no_grad():
            return main_output(self.run(model, batch))

    def seeded_output(self, model: nn.Module, batch: Batch, seed: int = 0) -> Tensor:
        """Return the output without gradients, with random numbers from a seed."""
        with IsolatedRandom(seed):
            return self.evaluate(batch, model)

    def layer_calls(self, batch: Batch, kind: type[Layer]) -> list[tuple[Layer, tuple[Any, ...]]]:
        """Return layers of a kind as they are called in evaluation, each with its arguments.

        If the model raises, these are the calls up to that point.
        """
        calls: list[Any] = []
        with self.model_copy() as model, ExitStack() as hooks:
            for layer in model.modules():
                if isinstance(layer, kind):
                    hook = layer.register_forward_pre_hook(lambda *call: calls.append(call))
                    hooks.enter_context(hook)
            with suppress(Exception):
                self.evaluate(batch, model)
        return calls

    @cached_property
    def full_batch(self) -> Batch:
        """The batch as given, or a synthetic one."""
        batch = self._given
        if batch is None:
            batch = synthetic_batch(self.model, self.runs)
            if batch is None:
                raise Inapplicable("no batch was given, and no synthetic one runs")
        batch = without_unknown_labels(batch, self.model.forward)
        device = next((each.device for each in self.model.parameters()), batch.main.device)
        return batch if batch.main.device == device else batch.to(device)

    @cached_property
    def batch(self) -> Batch:
        """As many samples of the batch as run quickly."""
        whole = self.full_batch
        few = whole.first(FEWEST_SAMPLES if whole.size > FEWEST_SAMPLES else whole.size - 1)
        if not 0 < few.size < whole.size:
            return whole
        _ = self._shares_state  # which takes time of its own
        start = perf_counter()
        if not self.runs(few):  # other tests report it if nothing runs
            if not self.runs(whole):
                return whole.first(FEWEST_SAMPLES)
            cut = replace(whole, squares_shared=False)
            if not self.runs(cut.first(few.size)):
                self.full_batch, self.fixed_size, _ = uncut(whole)
                return self.full_batch
            self.full_batch = whole = cut
        passes = QUICK / max(perf_counter() - start, 1e-6)
        quick = FEWEST_SAMPLES * passes >= MOST_SAMPLES
        return whole.first(MOST_SAMPLES if quick else FEWEST_SAMPLES)

    @property
    def two_samples(self) -> Batch:
        return self.batch.first(2)

    @property
    def given_batch(self) -> Batch:
        """The full batch, if one was given: a synthetic one says nothing about the data."""
        if self._given is None:
            raise Inapplicable("no batch was given")
        return self.full_batch

    @property
    def targets(self) -> Tensor:
        """The targets of the samples that are run."""
        return required(self.batch.targets, "no targets were given")

    @property
    def given_targets(self) -> Tensor:
        """All targets that were given, if there are several."""
        found = required(self.given_batch.targets, "no targets were given")
        if not found.ndim:
            raise Inapplicable("there is only one target")
        return found

    @property
    def first_pass(self) -> FirstPass:
        """The training pass that most tests look at; one test alone reports that it raises."""
        found = self.first_pass_or_error
        if isinstance(found, Inapplicable):
            raise found
        if isinstance(found, Exception):
            raise Inapplicable("the model does not run on the batch")
        return found

    @cached_property
    def first_pass_or_error(self) -> FirstPass | Exception:
        found = self._try_first_pass()
        if not isinstance(found, Exception) or isinstance(found, Inapplicable):
            return found
        given, cut = self.full_batch, self.batch
        for reading in other_readings(self):
            self._read_as(reading)
            again = self._try_first_pass()
            if not isinstance(again, Exception) and not self._drops_the_loss(again, given):
                return again
        self._read_as(Reading(given))
        self.batch = cut
        return found

    @cached_property
    def task(self) -> Task:
        """The task: given, or inferred from targets and outputs; "" if unknown."""
        if self._task or self.batch.targets is None:
            return self._task
        targets = self.full_batch.targets
        assert targets is not None
        output = self.evaluate(self.batch)
        if self.batch.targets is not None and classes_second(output, self.batch.targets):
            output = output.movedim(1, -1)
        values = (targets.float() if targets.is_floating_point() else targets).cpu().numpy()
        per_token = targets.numel() >= self.full_batch.main.numel()
        return tasks.infer(output.shape, values, tokens=self.batch.tokens and per_token)

    def loss_of(self, raw: Any, batch: Batch) -> Tensor | None:
        """Return the loss of an output: the user's, the model's own, or the task's usual one."""
        if self._loss is None:
            return loss_without_function(raw, batch, lambda: self.task)
        return loss_by_function(self._loss, raw, batch.all_targets)

    def takes_whole_output(self, raw: Any, batch: Batch) -> bool:
        """Return whether the user's loss got all outputs, so that it leaves out what it ignores."""
        return self._loss is not None and takes_whole_output(self._loss, raw, batch.all_targets)

    @property
    def synthetic_from(self) -> str:
        """The layer that inputs were generated for, "" if they were given or never needed."""
        generated = self._given is None and "full_batch" in vars(self)
        return self.full_batch.synthetic_from if generated else ""

    @property
    def has_targets(self) -> bool:
        known = vars(self).get("full_batch", self._given)
        return known is not None and known.all_targets is not None

    @property
    def knows_its_loss(self) -> bool:
        """Whether a loss could be computed, or could be if the model ran."""
        first = vars(self).get("first_pass_or_error")
        return self.has_targets or (isinstance(first, FirstPass) and first.has_loss)

    @cached_property
    def _shares_state(self) -> bool:
        """Whether a copy runs parts of the model itself, as closures make it do."""
        return shares_state(self, self._copies, self._loss)

    def _watched(self, model: nn.Module) -> AbstractContextManager[object]:
        """Record what a model runs that is no part of it, as long as that was never looked for."""
        is_known = "full_batch" in vars(self)
        return nullcontext() if is_known else Outside(self.model, model, self.restoring)

    def _try_first_pass(self) -> FirstPass | Exception:
        try:
            batch = self.batch
            with self.model_copy(training=True) as model:
                return first_pass(model, batch, self.run, self.loss_of)
        except Exception as error:
            return error

    def _drops_the_loss(self, found: FirstPass, given: Batch) -> bool:
        """Return whether the batch was read so that the user's loss lacks its targets."""
        return self.has_loss and not found.has_loss and given.all_targets is not None

    def _read_as(self, reading: Reading) -> None:
        """Go on with another reading of the batch."""
        self.full_batch, self.fixed_size, self.reading = reading
        for name in ("batch", "task", "_shares_state"):
            vars(self).pop(name, None)
        if reading.fixed_size:
            self.batch = reading.batch

    def runs(self, batch: Batch, *, training: bool = False) -> bool:
        """Return whether the model, without the loss, can be called with a batch."""
        try:
            with self.model_copy(training=training) as model, torch.no_grad(), self._watched(model):
                self.run(model, batch)
        except Exception:
            return False
        return True
