"""Watchers of a training loop: none, sickbay, and other tools.

A watcher belongs to one model and optimizer and gets the loss of each step. Other tools are
imported at first use, and their output is suppressed.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import (
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from importlib import import_module
from time import perf_counter
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

import sickbay


class Watcher:
    """Watches a training loop. This one does nothing."""

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        pass

    def step(self, loss: Tensor) -> None:
        """Handle a training step."""

    def pause(self) -> None:
        """Handle a pause of the loop, in which another loop runs."""

    def resume(self) -> None:
        """Handle the end of a pause."""

    def own_time(self) -> float:
        """Return the seconds spent in the watcher so far, measured by itself."""
        return 0.0

    def trouble(self) -> str:
        """Return the errors that the watcher reported instead of raising."""
        return ""

    def facts(self) -> dict[str, Any]:
        """Return further results for the report."""
        return {}

    def close(self) -> None:
        """Detach from the model."""


class Sickbay(Watcher):
    """Sickbay with the given options."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, **options: Any) -> None:
        self.doctor = sickbay.watch(model, optimizer, **{"on_finding": "silent", **options})
        self.pause()

    def step(self, loss: Tensor) -> None:
        self.doctor.step(loss)

    def pause(self) -> None:
        self._paused = perf_counter()

    def resume(self) -> None:
        # Otherwise the pause would count as a very long step, and the budget would allow more.
        self.doctor._governor._last += perf_counter() - self._paused

    def own_time(self) -> float:
        booked = self.doctor._governor.own_time + sum(self.doctor._clock._spent.values())
        return booked + self.doctor._clock.passing

    def trouble(self) -> str:
        return "; ".join(event.text for event in self.doctor.events if event.kind == "trouble")

    def facts(self) -> dict[str, Any]:
        history, reads = self.doctor.history, dict[str, float]()
        for kind in ("gradient", "weight", "activation"):
            if tables := history.tables(kind, 32):
                reads[kind] = (history.step + 1 - tables[0].step) / len(tables)
        findings = sorted({finding.problem for finding in self.doctor.findings})
        return {"steps_between_readings": reads, "findings": findings}

    def close(self) -> None:
        self.doctor.close()


class Wandb(Watcher):
    """`wandb.watch(model, log="all", log_freq=1)` and the loss logged at each step, offline."""

    FOLDERS = ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR")

    def __init__(self, model: nn.Module, _optimizer: Optimizer) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        os.environ.update(dict.fromkeys(self.FOLDERS, self._folder.name))
        os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_ERROR_REPORTING="false")
        self._wandb: Any = import_module("wandb")
        settings = self._wandb.Settings(console="off", silent=True)
        self._wandb.init(project="overhead", dir=self._folder.name, settings=settings)
        self._wandb.watch(model, log="all", log_freq=1)

    def step(self, loss: Tensor) -> None:
        self._wandb.log({"loss": loss.item()})

    def close(self) -> None:
        self._wandb.unwatch()
        self._wandb.finish()
        self._folder.cleanup()


class TorchAudit(Watcher):
    """`torch_audit.autopatch(model, optimizer=optimizer)`; checks every 1000 steps by default."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, **options: Any) -> None:
        autopatch = import_module("torch_audit").autopatch
        self._auditor: Any = autopatch(model, optimizer=optimizer, **options)

    def step(self, loss: Tensor) -> None:
        pass  # it patches the model and the optimizer

    def close(self) -> None:
        self._auditor.unpatch()


class Torchmortem(Watcher):
    """`with torchmortem.Autopsy(model, optimizer)`."""

    def __init__(self, model: nn.Module, optimizer: Optimizer) -> None:
        self._autopsy: Any = import_module("torchmortem").Autopsy(model, optimizer)
        self._autopsy.__enter__()

    def step(self, loss: Tensor) -> None:
        self._autopsy.step(loss=loss.item())

    def close(self) -> None:
        self._autopsy.__exit__(None, None, None)


Make = Callable[[nn.Module, Optimizer], Watcher]

# The second one shows the noise of the measurement.
PLAIN: dict[str, Make] = {"plain": Watcher, "plain_again": Watcher}
OWN: dict[str, Make] = {
    "default": Sickbay,
    "every_1": lambda model, optimizer: Sickbay(
        model, optimizer, every={"gradient": 1}, activations=False
    ),
    "every_1_all": lambda model, optimizer: Sickbay(model, optimizer, every=1),
    "treat": lambda model, optimizer: Sickbay(model, optimizer, on_finding="treat"),
}
RIVALS: dict[str, Make] = {
    "wandb_watch": Wandb,
    "torch_audit": TorchAudit,
    "torch_audit_1": lambda model, optimizer: TorchAudit(model, optimizer, every_n_steps=1),
    "torchmortem": Torchmortem,
}


@contextmanager
def muted() -> Iterator[None]:
    """Suppress output, logging and warnings."""
    before = logging.root.manager.disable
    with open(os.devnull, "w") as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                yield
        finally:
            logging.disable(before)
