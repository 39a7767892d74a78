"""The loops in which every part is made to raise."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import optuna
import torch
from torch import Tensor, nn

import sickbay
import sickbay.tuning.optuna
from sickbay.doctor import Doctor
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES
from tests.doctor.made_to_fail import MadeToFail


@dataclass
class Loop:
    """A loop of a few steps, watched or not.

    Attributes:
        losses: What the loop itself has seen.
        reached: The calls of the loop that one of our exceptions came out of.
    """

    steps: ClassVar[int] = 6
    spike: ClassVar[int] = 3  # where the loss jumps
    bad: ClassVar[int] = 4  # where it is NaN

    watch: dict[str, Any] | None = None
    home: Path | None = None
    losses: list[float] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    armed: Callable[[Callable[[], object]], object] = lambda run: run()

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.2), nn.Linear(4, 2)
        )
        self.optimizer = self.make_optimizer()
        self.criterion = nn.CrossEntropyLoss()
        self.inputs, self.targets = torch.randn(6, 3), torch.arange(6) % 2
        self.doctor: Doctor | None = None

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def run(self) -> Loop:
        """Watch, and only then let the part fail."""
        if self.watch is not None:
            options = dict(self.watch)
            options["chart"] = self.home if options.get("chart") else None
            self.doctor = self.admit(options)
        try:
            with redirect_stderr(io.StringIO()):
                self.armed(self.train)
        finally:
            if self.doctor is not None:
                self.doctor.close()
        return self

    def admit(self, options: dict[str, Any]) -> Doctor:
        return sickbay.watch(self.model, self.optimizer, **options)

    def train(self) -> None:
        for step in range(self.steps):
            inputs = self.inputs.clone()
            if step == self.bad:
                inputs[0, 0] = float("nan")
            loss = self.learn(inputs, 1e4 if step == self.spike else 1.0)
            if loss is None:
                return
            self.losses.append(loss.item())
            self.tell("step", loss)
            if step in (2, self.steps - 1):
                self.tell("epoch")
            if step == self.bad:
                self.ask()
        self.ask()
        self.tell("close")

    def learn(self, inputs: Tensor, factor: float) -> Tensor | None:
        """Make a step; None if one of our exceptions has ended it."""
        try:
            self.optimizer.zero_grad()
            loss = self.loss(inputs, factor)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
        except MadeToFail:
            self.reached.append("a hook")
            return None
        return loss

    def loss(self, inputs: Tensor, factor: float) -> Tensor:
        made: Tensor = self.criterion(self.model(inputs), self.targets) * factor
        return made

    def tell(self, what: str, *loss: Tensor) -> None:
        if self.doctor is None:
            return
        given = {"step": {"accuracy": 0.5}, "epoch": {"val_loss": 1.0}}.get(what, {})
        try:
            getattr(self.doctor, what)(*loss, **given)
        except MadeToFail:
            self.reached.append(f"doctor.{what}")

    def ask(self) -> None:
        """Read everything that a doctor shows."""
        shown = ("findings", "events", "history", "overhead", "treatments", "example", "chart")
        for what in (*shown, "health", "reports", "__repr__"):
            try:
                value = getattr(self.doctor, what, None)
                if what == "__repr__":
                    repr(self.doctor)
                del value
            except MadeToFail:
                self.reached.append(f"doctor.{what}")


class Scaled(Loop):
    """The same with a gradient scaler."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def learn(self, inputs: Tensor, factor: float) -> Tensor | None:
        try:
            self.optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = self.loss(inputs, factor)
            self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            self.scaler.step(self.optimizer)
            self.scaler.update()
        except MadeToFail:
            self.reached.append("a hook")
            return None
        return loss


class Hurried(Loop):
    """The same with more steps than are looked at: most of them pass."""

    steps, bad = 24, 21


class Searched(Loop):
    """The same as a trial of a search, judged in a thread."""

    steps, bad = 6, 99  # it must not end before its time

    def admit(self, options: dict[str, Any]) -> Doctor:
        trial = optuna.create_study(direction="minimize").ask()
        return sickbay.tuning.optuna.watch(
            trial, self.model, self.optimizer, epochs=4, metric="val_loss", **options
        )


class Closed(Loop):
    """The same with an optimizer that runs backward itself."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.LBFGS(self.model.parameters(), lr=0.1, max_iter=2)

    def learn(self, inputs: Tensor, factor: float) -> Tensor | None:
        losses: list[Tensor] = []

        def closure() -> Tensor:
            self.optimizer.zero_grad()
            loss = self.loss(inputs, factor)
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(loss)
            return loss

        try:
            self.optimizer.step(closure)  # type: ignore[arg-type]
        except MadeToFail:
            self.reached.append("a hook")
            return None
        return losses[-1]


@dataclass(frozen=True, kw_only=True)
class Broken(Problem):
    """Raises, so that parts that report this are reached too."""

    advice = "none"

    def check(self, history: History) -> Finding | None:
        raise ZeroDivisionError(f"at step {history.step}")


SOME = ["non_finite", "exploding_gradient", "loss_spike", "dead_units", "improper_loss"]


# The first is charted and says all, with the usual problems; others have what differs, quickly.
LOOPS: dict[str, tuple[type[Loop], dict[str, Any]]] = {
    "every step": (Loop, {"every": 1, "chart": True, "problems": [*PROFILES["default"], Broken()]}),
    "in a hurry": (Hurried, {"budget": 1e-6, "on_finding": "silent", "problems": SOME}),
    "scaler": (Scaled, {"every": 1, "on_finding": "silent", "problems": SOME}),
    "LBFGS": (Closed, {"every": 1, "on_finding": "silent", "problems": SOME}),
    "trial": (Searched, {"every": 1}),
    "published": (Loop, {"every": 1, "profile": "training_doctor", "report_every": 1}),
    "treated": (Loop, {"every": 1, "on_finding": "treat", "problems": SOME}),
}
