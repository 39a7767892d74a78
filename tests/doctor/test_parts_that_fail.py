"""Every part is made to raise, one after the other: nothing of it reaches the loop."""

from __future__ import annotations

import gc
import io
import struct
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, ClassVar

import optuna
import pytest
import torch
from torch import Tensor, nn

import sickbay
import sickbay.tuning.optuna
from sickbay.doctor import Doctor
from sickbay.findings import Finding
from sickbay.history import History
from sickbay.problems import Problem
from sickbay.problems.profiles import PROFILES
from tests.doctor.made_to_fail import MadeToFail, called, failing, functions, load, name_of

FEWEST = 150  # parts that each loop must reach, so that nothing is tested by reaching nothing

# What may raise, and why. All else may not.
ALLOWED = {
    # The guard and the report of what it caught are what everything else is caught by.
    "probe.guard:Guard.run",
    "probe.guard:Guard.fail",
    # The shell itself: all that torch calls, and what stands in the place of its methods.
    "probe.guard:Guard.shell.<locals>.shelled",
    "probe.hooks:Hook.__call__",
    "probe.hooks:weakly.<locals>.call",
    "probe.loss_modules:_call",
    "probe.grad_scaler:_step",
    "doctor.optimizer_step:OptimizerStep._wrapped.<locals>.step",
    "tuning.trial_doctor:TrialDoctor._shelled",
    "probe.method_patch:Patch.call",
    "probe.method_patch:Patch._bound",
    # What the loop itself calls: made to raise, it is the call that is replaced, and nothing of
    # ours is around it.
    *(
        f"doctor.doctor:Doctor.{name}"
        for name in (
            "step", "epoch", "close", "findings", "events", "history", "overhead", "treatments",
            "example", "chart", "__repr__", "__enter__", "__exit__",
        )
    ),
    *(f"tuning.trial_doctor:TrialDoctor.{name}" for name in ("step", "epoch", "close")),
    "tuning.optuna.doctor:OptunaDoctor.close",
}  # fmt: skip


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
        for what in (*shown, "__repr__"):
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
    "treated": (Loop, {"every": 1, "on_finding": "treat", "problems": SOME}),
}


@pytest.fixture(scope="module")
def known() -> dict[CodeType, list[FunctionType]]:
    load()
    return functions()


def bits(losses: list[float]) -> list[bytes]:
    return [struct.pack("d", loss) for loss in losses]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", LOOPS)
def test_no_part_that_raises_reaches_the_loop(
    name: str, known: dict[CodeType, list[FunctionType]], tmp_path: Path
) -> None:
    kind, options = LOOPS[name]
    plain = kind().run().losses
    parts: list[CodeType] = []
    for number in range(2):  # what the first loop loads is loaded then

        def trace(run: Callable[[], object]) -> None:
            parts[:] = called(run)

        kind(options, tmp_path / f"traced-{number}", armed=trace).run()
    parts = [code for code in parts if name_of(code) not in ALLOWED]
    assert len(parts) >= FEWEST

    broken: dict[str, str] = {}
    for number, code in enumerate(parts):
        part = name_of(code)

        def armed(run: Callable[[], object], code: CodeType = code) -> None:
            with failing(code, known):
                run()

        loop = kind(options, tmp_path / f"{number}", armed=armed).run()
        same = "treat" in options.values() or bits(loop.losses) == bits(plain)
        if loop.reached:
            broken[part] = f"reaches {', '.join(dict.fromkeys(loop.reached))}"
        elif not same:
            broken[part] = "changes the losses"
    gc.collect()  # what is left of a failed end complains here, where that is ignored
    said = "\n".join(f"  {part}: {how}" for part, how in sorted(broken.items()))
    assert not broken, f"{len(broken)} of {len(parts)} parts reach the loop:\n{said}"


def test_a_part_that_is_made_to_raise_does(known: dict[CodeType, list[FunctionType]]) -> None:
    from sickbay.probe.jump_alarm import Alarm

    code = Alarm.rings.__code__
    with failing(code, known), pytest.raises(MadeToFail):
        Alarm().rings(1.0)
    assert not Alarm().rings(1.0)


def test_all_functions_of_the_package_are_walked(
    known: dict[CodeType, list[FunctionType]],
) -> None:
    assert len(known) > 1000
