"""A program: a small complete training script with one to three faults, and its fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from torch import Tensor, nn
from torch.optim import Optimizer

HALVES = ("calibration", "reporting")
# What a model that learns badly shows, whatever the cause. It is a symptom, unless `names` has it.
SYMPTOMS = ("not_learning", "underfitting", "still_falling", "constant_prediction")

Batch: TypeAlias = tuple[Tensor, Tensor]
Score: TypeAlias = Callable[[nn.Module], float]


class Watching(Protocol):
    """What `watch` returns: a doctor."""

    def step(self, loss: Tensor) -> object:
        """Take the loss of a training step."""

    def epoch(self, **metrics: float) -> object:
        """Take the metrics of an epoch."""


Watch: TypeAlias = Callable[..., Watching]
Main: TypeAlias = Callable[[Watch, bool, int], float]


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a program.

    Attributes:
        kind: What is wrong, in a few words. Programs with the same kind are counted together.
        names: Problems that a competent person would call right.
        also: Problems that are symptoms of it. They are neither right nor wrong.
        mild: Whether the program still learns, only clearly worse than its fix.

    >>> fault = Fault("softmax before cross entropy", ("double_activation",))
    >>> fault.judge("double_activation"), fault.judge("not_learning"), fault.judge("loss_spike")
    ('right', 'symptom', 'wrong')
    """

    kind: str
    names: tuple[str, ...]
    also: tuple[str, ...] = ()
    mild: bool = False

    def judge(self, problem: str) -> str:
        """Return whether a finding is `right`, a `symptom` or `wrong`."""
        if problem in self.names:
            return "right"
        return "symptom" if problem in (*self.also, *SYMPTOMS) else "wrong"

    def mildly(self) -> Fault:
        """Return the fault in its mild form."""
        return replace(self, mild=True)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a plain supervised program hands to `sickbay.fit`, and how its model is scored.

    Attributes:
        data: Inputs and targets to train on, as the user prepared them.
        score: The score on held-out samples. Higher is better; 1 is perfect.
        constant: The score of the best constant answer.
        validation: Inputs and targets that the user validates on, if any.
    """

    model: nn.Module
    data: Batch
    loss: Callable[..., Tensor]
    optimizer: Optimizer
    score: Score
    constant: float
    epochs: int
    batch_size: int = 32
    validation: Batch | None = None

    def for_fit(self) -> dict[str, Any]:
        """Return the arguments of `sickbay.fit`."""
        names = ("model", "data", "loss", "optimizer", "validation", "epochs", "batch_size")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A training script with its faults and its fix.

    Attributes:
        main: The script. It takes `watch`, whether to apply the fix, and a seed, and returns the
            score on held-out data.
        parts: The same as parts for `sickbay.fit`, if it is plain supervised training.
        source: The kind of report it retells.
        data: The real data set it needs, from `--data DIR`.
        repairable: Whether a change of its parts could repair it. Wrong labels stay wrong.
    """

    name: str
    half: str
    kind: str
    faults: tuple[Fault, ...]
    source: str
    main: Main
    parts: Callable[[bool, int], Parts] | None = None
    data: str = ""
    repairable: bool = True

    @property
    def mild(self) -> bool:
        """Whether all its faults are mild."""
        return all(fault.mild for fault in self.faults)


class ProgramList:
    """The programs of a module, added by decorators."""

    def __init__(self, half: str, kind: str) -> None:
        self.half = half
        self.kind = kind
        self.all: list[Program] = []

    def script(
        self, faults: Fault | Sequence[Fault], source: str, *, kind: str = "", data: str = ""
    ) -> Callable[[Main], Main]:
        """Add a script with a loop of its own: a function of `watch`, `fixed` and `seed`."""

        def add(main: Main) -> Main:
            self._add(main.__name__, faults, source, kind, data, main)
            return main

        return add

    def supervised(
        self,
        faults: Fault | Sequence[Fault],
        source: str,
        *,
        kind: str = "",
        data: str = "",
        repairable: bool = True,
    ) -> Callable[[Callable[[bool, int], Parts]], Callable[[bool, int], Parts]]:
        """Add a plain supervised program: a function of `fixed` and `seed` that returns parts."""
        from benchmarks.programs.training import train

        def add(parts: Callable[[bool, int], Parts]) -> Callable[[bool, int], Parts]:
            def main(watch: Watch, fixed: bool, seed: int) -> float:
                return train(parts(fixed, seed), watch, seed)

            self._add(parts.__name__, faults, source, kind, data, main, parts, repairable)
            return parts

        return add

    def _add(
        self,
        name: str,
        faults: Fault | Sequence[Fault],
        source: str,
        kind: str,
        data: str,
        main: Main,
        parts: Callable[[bool, int], Parts] | None = None,
        repairable: bool = True,
    ) -> None:
        several = (faults,) if isinstance(faults, Fault) else tuple(faults)
        kind = kind or self.kind
        self.all.append(
            Program(
                name=f"{kind.replace(' ', '_')}/{name}",
                half=self.half,
                kind=kind,
                faults=several,
                source=source,
                main=main,
                parts=parts,
                data=data,
                repairable=repairable,
            )
        )
