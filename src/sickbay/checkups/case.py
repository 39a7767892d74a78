"""A model with all that is at hand to examine it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from inspect import signature
from time import perf_counter
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sickbay import tasks
from sickbay.checkups.attention import Attention, watched
from sickbay.checkups.base import Inapplicable
from sickbay.checkups.batch import LABELS, Batch
from sickbay.checkups.class_outputs import class_dimension
from sickbay.checkups.first_pass import FirstPass, first_pass, main_output, part
from sickbay.checkups.first_steps import first_steps
from sickbay.checkups.made_up_batch import make_up
from sickbay.checkups.restore_model import kept
from sickbay.errors import Declined
from sickbay.model_arguments import unwrap_compiled
from sickbay.model_copies import copy_of, inputs_of
from sickbay.tasks import Task

MOST, LEAST = 16, 4  # samples of a batch that is run: the fewer if a pass is not quick
QUICK = 0.15  # seconds of such a pass
Loss = Callable[[Any, Any], Tensor]
Value = TypeVar("Value")


class Case:
    """What is examined. Nothing that is done with it lasts.

    `model` is the user's own, to be looked at only; what is run is a `patient()`. Whatever is asked
    for and is not there raises `Inapplicable`, so that a test need not ask first.
    """

    def __init__(
        self,
        model: nn.Module,
        batch: Batch | None = None,
        loss: Loss | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        task: Task = "",
        validation: Batch | None = None,
    ) -> None:
        self.model = unwrap_compiled(model)
        if isinstance(self.model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            self.model = self.model.module
        self._given, self._loss, self._optimizer, self._task = batch, loss, optimizer, task
        self._validation = validation
        self.rigid = False  # whether only the whole batch runs
        self.uncopied = ""  # why the model itself had to be run, "" if it did not

    @contextmanager
    def patient(self, *, training: bool = False) -> Iterator[nn.Module]:
        """Yield a model to do anything with: a copy, or the model itself if it cannot be copied."""
        try:
            copied = copy_of(self.model)
        except Declined as error:
            self.uncopied = str(error)
            with kept(self.model):
                _set(self.model, training)
                yield self.model
            return
        _set(copied, training)
        yield copied

    def run(self, model: nn.Module, batch: Batch) -> Any:
        """Call a model with a batch, which stays as it is."""
        if self.rigid and batch.size != self.whole.size:
            raise Inapplicable(f"the model runs with {self.whole.size} samples only")
        args, kwargs = inputs_of((batch.args, dict(batch.kwargs)))
        return model(*args, **kwargs)

    def output(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the tensor that matters of what a model makes of a batch."""
        return main_output(self.run(model, batch))

    def evaluated(self, batch: Batch, model: nn.Module | None = None) -> Tensor:
        """Return the output in evaluation, without gradients; of a patient if no model is given."""
        if model is None:
            with self.patient() as model:
                return self.evaluated(batch, model)
        with torch.no_grad():
            return self.output(model, batch)

    @cached_property
    def whole(self) -> Batch:
        """The batch as it was given, or made up."""
        batch = self._given
        if batch is None:
            batch = make_up(self.model, self._runs)
            if batch is None:
                raise Inapplicable("no batch was given, and none could be made up")
        batch = replace(batch, kwargs=self._taken(batch.kwargs))
        device = next((each.device for each in self.model.parameters()), batch.main.device)
        return batch if batch.main.device == device else batch.to(device)

    @cached_property
    def batch(self) -> Batch:
        """As many samples as are run quickly."""
        few = self.whole.first(LEAST)
        if self.whole.size <= LEAST:
            return few
        try:
            start = perf_counter()
            self.evaluated(few)
        except Exception:  # there are tests for both
            self.rigid = self._runs(self.whole)
            return self.whole if self.rigid else few
        passes = QUICK / max(perf_counter() - start, 1e-6)
        return self.whole.first(MOST if LEAST * passes >= MOST else LEAST)

    @property
    def few(self) -> Batch:
        """Two samples, for what shows with any."""
        return self.batch.first(2)

    @property
    def given_batch(self) -> Batch:
        """The batch, if it was given: tests of data make no sense with one that was made up."""
        if self._given is None:
            raise Inapplicable("no batch was given")
        return self.whole

    @property
    def validation(self) -> Batch:
        return self._there(self._validation, "no validation batch was given")

    @property
    def targets(self) -> Tensor:
        """The targets of the samples that are run."""
        return self._there(self.batch.targets, "no targets were given")

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        return self._there(self._optimizer, "no optimizer was given")

    @property
    def first(self) -> FirstPass:
        """The one forward and backward pass in training that many tests look at."""
        if isinstance(self._first, Exception):
            raise self._first
        return self._first

    @cached_property
    def _first(self) -> FirstPass | Exception:
        """That pass, or what it raised, which need not be found out again for every test."""
        try:
            with self.patient(training=True) as model:
                return first_pass(model, self.batch, self.run, self.loss_of)
        except Exception as error:
            return error

    @property
    def seen(self) -> FirstPass:
        """The first pass; where the model does not run, that is for one test alone to say."""
        try:
            return self.first
        except Inapplicable:
            raise
        except Exception:
            raise Inapplicable("the model does not run on the batch") from None

    @cached_property
    def reached(self) -> frozenset[str]:
        """The parameters that get a gradient other than zero in one of the first steps."""
        return first_steps(self)

    @cached_property
    def attention(self) -> Attention:
        """How the model attends, in evaluation."""
        with self.patient() as model:
            return watched(model, lambda: self.run(model, self.batch))

    @cached_property
    def task(self) -> Task:
        """What is to be learnt, "" if that cannot be told."""
        if self._task or self.batch.targets is None:
            return self._task
        targets = self.whole.targets
        assert targets is not None
        output = self.evaluated(self.batch)
        if self._of_channels(output):
            output = output.movedim(1, -1)
        known = targets.float() if targets.is_floating_point() else targets
        placed = targets.numel() >= self.whole.main.numel()  # a target for every token
        return tasks.infer(output.shape, known.cpu().numpy(), tokens=self.batch.tokens and placed)

    def loss_of(self, raw: Any, batch: Batch) -> Tensor | None:
        """Return the loss of what a model put out: the user's, the model's own, or the task's."""
        own = part(raw, "loss")
        if self._loss is None and own is not None:
            return own
        wanted = batch.targets if batch.several is None else batch.several
        if wanted is None or (self._loss is None and batch.targets is None):
            return None
        if self._loss is None:
            return self._usual_loss(main_output(raw), wanted)
        if not isinstance(raw, Tensor):  # a loss of one's own may take all of it
            with suppress(Exception):
                return self._loss(raw, wanted)
        return self._loss(main_output(raw), wanted)

    @property
    def made_up(self) -> str:
        """What the inputs were made up from, "" if they were given or could not be."""
        return self.whole.made_up if self._given is None and "whole" in vars(self) else ""

    @property
    def has_targets(self) -> bool:
        given = self._given
        return given is not None and (given.targets is not None or given.several is not None)

    @property
    def has_optimizer(self) -> bool:
        return self._optimizer is not None

    @property
    def predicts(self) -> bool:
        """Whether the user says that the next token is to be predicted."""
        return self._task == "next_token"

    @property
    def has_loss(self) -> bool:
        """Whether the user has given a loss."""
        return self._loss is not None

    def _usual_loss(self, output: Tensor, targets: Tensor) -> Tensor | None:
        """Return the loss that goes with the task, None if that is not known."""
        if self.task in ("multiclass", "next_token"):
            if not self._of_channels(output):
                output = output.flatten(0, -2)
            return F.cross_entropy(output, targets if output.ndim > 2 else targets.flatten())
        if self.task in ("binary", "multilabel"):
            return F.binary_cross_entropy_with_logits(output.view_as(targets), targets.float())
        if self.task == "regression" and output.numel() == targets.numel():
            return F.mse_loss(output.view_as(targets), targets)
        return None

    def _of_channels(self, output: Tensor) -> bool:
        """Tell whether outputs have the classes in their second dimension, as for images."""
        targets = self.batch.targets
        if targets is None or targets.is_floating_point() or output.ndim < 3:
            return False
        return class_dimension(output, targets) == 1

    def _taken(self, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments by name without labels that the model does not take."""
        known = signature(self.model.forward).parameters
        if any(each.kind is each.VAR_KEYWORD for each in known.values()):
            return kwargs
        return {
            name: value for name, value in kwargs.items() if name in known or name not in LABELS
        }

    def _runs(self, batch: Batch) -> bool:
        try:
            self.evaluated(batch)
        except Exception:
            return False
        return True

    @staticmethod
    def _there(value: Value | None, otherwise: str) -> Value:
        if value is None:
            raise Inapplicable(otherwise)
        return value


def _set(model: nn.Module, training: bool) -> None:
    """Put a model into a mode as users do: by its own methods, which may do something else."""
    if training:
        model.train()
    else:
        model.eval()
