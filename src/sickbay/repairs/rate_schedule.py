"""The learning-rate schedule that a recipe asks for, stepped in its training loop."""

from collections.abc import Mapping

from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from sickbay.recipe import Recipe
from sickbay.repairs.scoring import key
from sickbay.schedules import make_scheduler


class RateSchedule:
    """Steps the scheduler of a recipe after each epoch or each batch, if there is one."""

    def __init__(self, live: Recipe) -> None:
        self._by_batch = live.scheduler_step == "batch"
        self._scheduler: LRScheduler | None = None
        if live.scheduler is not None:
            assert not isinstance(live.scheduler, LRScheduler)  # a recipe makes it a function
            self._scheduler = make_scheduler(live.scheduler, live.optimizer)

    def stop(self) -> None:
        """Leave the rate as it is from now on: many schedules end with the planned epochs."""
        self._scheduler = None

    def end_batch(self) -> None:
        """Step, if that is due after each batch."""
        if self._scheduler is not None and self._by_batch:
            self._scheduler.step()

    def end_epoch(self, scores: Mapping[str, float]) -> None:
        """Step, if that is due after each epoch."""
        if self._scheduler is None or self._by_batch:
            return
        if isinstance(self._scheduler, ReduceLROnPlateau):
            rising = self._scheduler.mode == "max"
            self._scheduler.step(key(scores) if rising else scores["val_loss"])
        else:
            self._scheduler.step()
