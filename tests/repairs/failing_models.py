"""What the tests of worker processes train: at the top level of a file, so that it can be sent."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import sickbay
from sickbay.demo.flawed_models import circles, layers
from sickbay.remedies import Remedy
from sickbay.repairs.data import Data
from sickbay.repairs.executor import WorkerExecutor
from sickbay.repairs.process_worker import ProcessWorker
from sickbay.repairs.run_settings import RunSettings


class Mortal(nn.Sequential):
    """A model whose process ends in the so-manieth epoch, by itself or by a signal."""

    def __init__(self, *parts: nn.Module, epoch: int = 2, by: signal.Signals | None = None) -> None:
        super().__init__(*parts)
        self.epoch, self.by, self.seen = epoch, by, 0
        self.home = os.getpid()

    def forward(self, x: Tensor) -> Tensor:
        if self.training and os.getpid() != self.home:
            self.seen += 1
            if self.seen > 8 * (self.epoch - 1):  # 512 samples in batches of 64
                os._exit(3) if self.by is None else os.kill(os.getpid(), self.by)
        made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return made


class Leaving(nn.Sequential):
    """A model that leaves the program in training."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            sys.exit(4)
        made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return made


class Interrupted(nn.Sequential):
    """A model that raises what Ctrl+C raises, once it is trained in another process."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            raise KeyboardInterrupt
        made: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return made


class Secretive(nn.Sequential):
    """A model whose state cannot be sent back."""

    def get_extra_state(self) -> Any:
        return lambda: None

    def set_extra_state(self, state: Any) -> None: ...


@dataclass(frozen=True)
class Poison(Remedy):
    """Use a model that ends its process."""

    treats = ("vanishing_gradient", "improper_initialisation")

    def prescribe(self, _finding: sickbay.Finding, recipe: sickbay.Recipe) -> sickbay.Recipe:
        model = Mortal(*healthy(), epoch=1)
        return recipe.with_model(model, "model = Mortal(...)")


class Circles(Dataset[Any]):
    """Points that are made one by one."""

    def __init__(self, count: int = 512) -> None:
        self.points, self.labels = circles(count)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        return self.points[row], self.labels[row]


class Slow(Circles):
    """The same, slowly; holds a pipe open in each process that makes some."""

    pipe = 0

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        if not Slow.pipe:
            Slow.pipe = os.open(os.environ["PIPE"], os.O_WRONLY)
        if os.environ["MAIN"] not in map(str, (os.getpid(), os.getppid())):
            os.write(Slow.pipe, b"+")  # this is a worker of a loader in a worker
            time.sleep(0.2)
        return super().__getitem__(row)


def pairs(samples: list[Any]) -> Any:
    points, labels = zip(*samples, strict=True)
    return torch.stack(points), torch.stack(labels)


def healthy() -> nn.Sequential:
    return layers(2, 32, 32, 1, gain=2.4)


def executor(data: Any = None) -> WorkerExecutor:
    samples = Data.of(data or circles(512), circles(256, seed=1), batch_size=64)
    settings = RunSettings(problems=(), treatable=(), epochs=4)
    return WorkerExecutor(samples, settings, partial(ProcessWorker, 1), size=2, remote=True)


def recipe_for(model: nn.Module) -> sickbay.Recipe:
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return sickbay.Recipe(model, nn.BCEWithLogitsLoss(), optimizer, batch_size=64, epochs=4)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    os.environ["MAIN"] = str(os.getpid())
    given: DataLoader[Any] = DataLoader(Slow(), 64, num_workers=1)
    sickbay.repair(recipe_for(healthy()), given, validation=circles(256), workers=2)
