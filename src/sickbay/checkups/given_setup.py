"""What a user gives to a checkup."""

from typing import TypeVar

from torch import nn
from torch.optim import Optimizer

from sickbay.checkups.batch import Batch, Inapplicable
from sickbay.checkups.model_losses import Loss
from sickbay.model_arguments import unwrap_compiled
from sickbay.tasks import Task

Value = TypeVar("Value")


class GivenSetup:
    """A model, and what was given to train it. Asking for the rest raises `Inapplicable`."""

    def __init__(
        self,
        model: nn.Module,
        batch: Batch | None = None,
        loss: Loss | None = None,
        optimizer: Optimizer | None = None,
        task: Task = "",
        validation: Batch | None = None,
    ) -> None:
        self.model = unwrap_compiled(model)
        if isinstance(self.model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            self.model = self.model.module
        self._given, self._loss, self._optimizer, self._task = batch, loss, optimizer, task
        self._validation = validation

    @property
    def validation(self) -> Batch:
        return required(self._validation, "no validation batch was given")

    @property
    def optimizer(self) -> Optimizer:
        return required(self._optimizer, "no optimizer was given")

    @property
    def has_optimizer(self) -> bool:
        return self._optimizer is not None

    @property
    def has_loss(self) -> bool:
        """Whether the user gave a loss."""
        return self._loss is not None

    @property
    def is_next_token(self) -> bool:
        """Whether the user said that the task is next-token prediction."""
        return self._task == "next_token"


def required(value: Value | None, otherwise: str) -> Value:
    """Return a value, or raise `Inapplicable` if there is none."""
    if value is None:
        raise Inapplicable(otherwise)
    return value
